// In blind mode alone: a personal link becomes a token that the server signs unseen.

import { finish, request } from "./blind.js";
import { FINAL, post } from "./queue.js";

let asking; // made once, however often the button is pressed

// What is to be signed. It outlives the page: the link works for no other one.
async function prepared(survey, link, kept) {
  const before = kept.read("blind");
  const asked = before && before.link === link ? before : { ...(await request(survey.issuer, survey.hash)), link };
  kept.write("blind", asked);
  return asked;
}

// The token. Throws `how` the survey's server refused for good, "insecure" without https, anything else to try again.
export async function signed(survey, link, kept) {
  asking = asking || prepared(survey, link, kept);
  const asked = await asking;
  const body = JSON.stringify({ survey: survey.hash, invitation: link, blinded: asked.blinded });
  const answer = await post("sign", body);
  const told = await answer.json();
  const refused = FINAL.includes(answer.status) && typeof told.error === "string";
  if (refused) throw Object.assign(new Error(), { how: answer.status });
  return finish(survey.issuer, asked, told.signature);
}
