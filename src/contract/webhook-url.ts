import { z } from 'zod';

const MAX_LENGTH = 2048;
const UNSAFE = /[\u0000-\u0020\u007f-\u009f\\]/;

/** The URL of a webhook endpoint. Whether its address may be connected to is not decided here. */
export const webhookUrl = z
  .string()
  .check((context) => {
    const message = faultOf(context.value);
    if (message !== undefined) {
      context.issues.push({ code: 'invalid_format', format: 'uri', message, input: context.value });
    }
  })
  .meta({ format: 'uri', maxLength: MAX_LENGTH, examples: ['https://shop.example/webhooks'] });

function faultOf(value: string): string | undefined {
  if (value.length > MAX_LENGTH) return `must be a URL of at most ${MAX_LENGTH} characters`;
  if (!value.isWellFormed() || UNSAFE.test(value)) return 'must hold no spaces, backslashes or control characters';
  const url = URL.parse(value);
  if (!url || !/^https?:\/\/[^/]/i.test(value)) return 'must be an absolute http or https URL';
  if (url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?#]*@/.test(value)) {
    return 'must hold no user name or password: the signature tells the receiver who sends';
  }
  if (value.includes('#')) return 'must hold no fragment, which is never sent';
  return undefined;
}
