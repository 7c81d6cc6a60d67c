import { type Exchange, problemOf, startAttempt, unexpected } from './exchange.ts';

/**
 * The text of a response, part by part; `timeoutMs` is the timeout of each part. Throws the errors of other calls, also
 * if the response ends before the text is complete. The request is never repeated.
 */
export async function* streamText(request: Exchange, type: string, now: () => number): AsyncGenerator<string> {
  const { part, fetch, end } = startAttempt(request);
  try {
    const response = await part(fetch);
    const isFile = response.ok && response.headers.get('content-type')?.split(';')[0] === type;
    if (!isFile || !response.body) {
      const received = { response, text: await part(() => response.text()) };
      throw problemOf(request, received, now()) ?? unexpected(request, received, now());
    }
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await part(() => reader.read());
      if (done) return;
      const text = decoder.decode(value, { stream: true });
      if (text !== '') yield text;
    }
  } finally {
    end();
  }
}
