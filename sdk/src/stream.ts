import { type Exchange, problemOf, startAttempt, unexpected } from './exchange.ts';

/**
 * Yields the text of a response in parts; `timeoutMs` is the timeout of each part. Throws the same errors as other calls, also
 * if the response ends before the text is complete. Never retries the request.
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
