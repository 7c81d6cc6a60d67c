const FORM = /^whsec_[A-Za-z0-9+/]+={0,2}$/;
const MIN_BYTES = 24;
const MAX_BYTES = 64;

/** Form of a webhook secret, for messages. */
export const SECRET_FORM = 'whsec_ and the base64 of 24 to 64 bytes';

/** Answers whether a text can be the secret of an endpoint. */
export function isSecret(text: string): boolean {
  const { length } = Buffer.from(text.slice('whsec_'.length), 'base64');
  return FORM.test(text) && length >= MIN_BYTES && length <= MAX_BYTES;
}
