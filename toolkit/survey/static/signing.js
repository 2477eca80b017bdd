// Only with blind access: exchange a personal link for a token that the server signs unseen.

import { finish, request } from "./blind.js";
import { FINAL, ask } from "./queue.js";

let asking; // the message to sign; made once, as a link allows no other

// The token; throws an error with `how` after a final rejection, "insecure" without https, and others if trying again may help.
export async function signed(survey, link, kept) {
  const asked = await (asking = asking || kept.read("blind") || request(survey.issuer, survey.hash));
  kept.write("blind", asked); // for a reload
  const body = JSON.stringify({ survey: survey.hash, invitation: link, blinded: asked.blinded });
  const answer = await ask("sign", body);
  const told = await answer.json();
  const refused = FINAL.includes(answer.status) && typeof told.error === "string";
  if (refused) throw Object.assign(new Error(), { how: answer.status });
  return finish(survey.issuer, asked, told.signature);
}
