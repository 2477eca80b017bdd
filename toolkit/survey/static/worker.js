// A station's page without a network: the files of one program, identified by its hash, and no answers. Files from a server with
// a different program are always rejected, so that two programs are never mixed.

const pin = new URL(location).searchParams;
const names = pin.get("files").split(",");
const cache = registration.scope + " " + pin.get("code") + " " + pin.get("page");
const known = names.concat("station").map((name) => new URL(name, location).pathname);
const digest = async (blob) => new Uint8Array(await crypto.subtle.digest("SHA-256", await blob.arrayBuffer()));
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

// A response and its body, which is read at once to free one of the few connections.
async function fetched(path) {
  const answer = await fetch(path, { cache: "no-store", credentials: "omit" });
  if (answer.status !== 200) throw new Error("not there");
  return { answer, body: await answer.clone().blob() };
}

// All files, if they have the pinned hash and the page belongs to the same program and survey.
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
