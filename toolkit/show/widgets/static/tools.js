// Outputs of an explorer: the code for the current setting, the code of a survey question with it, and the picture.
import { html, write } from "./elements.js";

const LABELS = { code: "Copy code", question: "Copy as Question" };

/** Fill the slots of code with numbers and names, as Python does. */
export function filled(code, settings) {
  return code.replace(/\{(\w+)\}/g, (_, name) => JSON.stringify(settings[name]));
}

/** Copy to the clipboard, which is available only over TLS or on this computer; otherwise the text is selected for copying by hand. */
async function copied(field) {
  field.focus();
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    return true;
  } catch {
    return document.execCommand("copy");
  }
}

function download(name, bits) {
  const link = html("a", { href: URL.createObjectURL(new Blob([bits], { type: "image/png" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Buttons below the panels. `codes` are templates by kind; Python draws the picture of the setting that it receives. */
export function tools(codes, names) {
  const field = html("textarea", { rows: 2, readonly: "", "aria-label": "Code", hidden: "" });
  field.dataset.lmSuppressShortcuts = "true";
  const said = html("span", { role: "status" });
  const buttons = Object.keys(codes).map((kind) => html("button", { type: "button", "data-name": kind }, LABELS[kind]));
  const save = html("button", { type: "button", "data-name": "picture" }, "Save picture");
  let settings = {};
  async function copy(kind) {
    field.value = filled(codes[kind], settings);
    field.hidden = false;
    write(said, (await copied(field)) ? "Copied." : "Copy it from here.");
  }
  return {
    element: html("div", { class: "tools" }, html("div", { class: "row" }, ...buttons, save, said), field),
    draw(_, shown) {
      settings = shown;
      write(said, "");
      field.hidden = true;
    },
    listen(_, model) {
      Object.keys(codes).forEach((kind, i) => buttons[i].addEventListener("click", () => copy(kind)));
      save.addEventListener("click", () => {
        const setting = Object.fromEntries(names.map((name) => [name, settings[name]]));
        model.send({ kind: "picture", setting });
        write(said, "Drawing …");
      });
      model.on("msg:custom", (message, buffers) => {
        if (message.kind !== "picture" || !buffers?.length) return;
        download(message.name, buffers[0]);
        write(said, "Saved.");
      });
    },
  };
}
