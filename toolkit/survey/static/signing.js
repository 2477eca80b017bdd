// In blind mode alone: a personal link becomes a token that the server signs unseen.

import { finish, request } from "./blind.js";
import { FINAL, ask } from "./queue.js";

let asking; // what is to be signed: made once, as the link works for no other

// The token. Throws `how` the survey's server refused for good, "insecure" without https, anything else to try again.
export async function signed(survey, link, kept) {
  const asked = await (asking = asking || kept.read("blind") || request(survey.issuer, survey.hash));
  kept.write("blind", asked); // it outlives the page
  const body = JSON.stringify({ survey: survey.hash, invitation: link, blinded: asked.blinded });
  const answer = await ask("sign", body);
  const told = await answer.json();
  const refused = FINAL.includes(answer.status) && typeof told.error === "string";
  if (refused) throw Object.assign(new Error(), { how: answer.status });
  return finish(survey.issuer, asked, told.signature);
}
