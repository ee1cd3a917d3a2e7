// Client of the JSON API, which the page docs describes.

/** A refused request, with the server's message. */
export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** The models that are loaded, and the limits of requests. */
export function getModels() {
  return request("models");
}

/** The OpenAPI description of the API. */
export function getDescription() {
  return request("openapi.json");
}

/** Post a question; the signal can cancel it. */
export function post(path, question, signal) {
  return request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(question),
    signal,
  });
}

/** Predict words. */
export async function predict(question, signal) {
  return (await post("predict", question, signal)).answers;
}

/** The message of a refusal, reworded for a question with a single word. */
export function explain({ message }) {
  return message.replace(/^words\[0\](:? )/, (_, colon) => (colon === " " ? "This word " : ""));
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server does not answer. Is it still running?", 0);
  }
  const body = await response.json().catch(() => ({ error: response.statusText }));
  if (!response.ok) throw new Refused(body.error, response.status);
  return body;
}
