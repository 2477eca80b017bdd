// A station's page without a network: the files of one program, which its hash pins, and nothing else. What a person enters is never
// here. A server with another program is refused, now and later: files of two programs are never mixed.

const pin = new URL(location).searchParams;
const names = pin.get("files").split(",");
const cache = registration.scope + " " + pin.get("code") + " " + pin.get("page");
const known = names.concat("station").map((name) => new URL(name, location).pathname);
const digest = async (blob) => new Uint8Array(await crypto.subtle.digest("SHA-256", await blob.arrayBuffer()));
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

// An answer and its body, which is read at once: else its connection is held, and there are few.
async function fetched(path) {
  const answer = await fetch(path, { cache: "no-store", credentials: "omit" });
  if (answer.status !== 200) throw new Error("not there");
  return { answer, body: await answer.clone().blob() };
}

// All files, if they are those of the pin, as anybody can compute it; the page must be of the same program and survey.
async function load() {
  const files = await Promise.all(known.map(fetched));
  const parts = names.map((name, i) => [`${name} ${files[i].body.size}\n`, files[i].body]);
  const page = await files[names.length].body.text();
  const own = ["code", "hash"].map((name, i) => page.includes(`"${name}":"${pin.get(["code", "page"][i])}"`));
  const program = hex(await digest(new Blob([].concat(...parts))));
  if (program !== pin.get("code") || !own.every(Boolean)) throw new Error("another program");
  const box = await caches.open(cache);
  await Promise.all(known.map((path, i) => box.put(path, files[i].answer)));
  return box;
}

async function tidy() {
  const old = (await caches.keys()).filter((name) => name.startsWith(registration.scope + " ") && name !== cache);
  await Promise.all(old.map((name) => caches.delete(name)));
  await clients.claim();
}

async function found(path) {
  const box = await caches.open(cache);
  return (await box.match(path)) || (await load()).match(path);
}

addEventListener("install", (event) => event.waitUntil(load().then(skipWaiting)));
addEventListener("activate", (event) => event.waitUntil(tidy()));
addEventListener("fetch", (event) => {
  const path = new URL(event.request.url).pathname;
  if (event.request.method === "GET" && known.includes(path)) event.respondWith(found(path));
});
