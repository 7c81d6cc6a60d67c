const FORM = /^whsec_[A-Za-z0-9+/]+={0,2}$/;
const MIN_BYTES = 24;
const MAX_BYTES = 64;

/** What a webhook secret is, in words. */
export const SECRET_FORM = 'whsec_ and the base64 of 24 to 64 bytes';

/** Whether the text can be the secret of an endpoint. */
export function isSecret(text: string): boolean {
  const { length } = Buffer.from(text.slice('whsec_'.length), 'base64');
  return FORM.test(text) && length >= MIN_BYTES && length <= MAX_BYTES;
}
