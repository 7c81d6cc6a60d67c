import { type Exchange, MAX_TIMER_MS, notReached, problemOf, timedOut, unexpected } from './exchange.ts';

/**
 * The text of a response, part by part; `timeoutMs` is the timeout of each part. Throws as other calls do, also if the
 * response breaks off: then the text is not complete. The request is never repeated.
 */
export async function* streamText(request: Exchange, type: string, now: () => number): AsyncGenerator<string> {
  const { fetch, method, url, headers, timeoutMs, signal } = request;
  signal?.throwIfAborted();
  const watch = watchOf(timeoutMs, signal);
  try {
    const response = await watch.part(fetch(url, { method, headers, signal: watch.signal, redirect: 'manual' }));
    const isFile = response.ok && response.headers.get('content-type')?.split(';')[0] === type;
    if (!isFile || !response.body) {
      const received = { response, text: await watch.part(response.text()) };
      throw problemOf(request, received, now()) ?? unexpected(request, received, now());
    }
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    for (let next = await watch.part(reader.read()); !next.done; next = await watch.part(reader.read())) {
      const text = decoder.decode(next.value, { stream: true });
      if (text !== '') yield text;
    }
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    if (watch.isLate()) throw timedOut(request, cause);
    throw watch.failed(cause) ? notReached(request, cause) : cause;
  } finally {
    watch.end();
  }
}

interface Watch {
  signal: AbortSignal;
  /** Waits for one part, until the timeout. */
  part<Part>(arrives: Promise<Part>): Promise<Part>;
  isLate(): boolean;
  /** Tells whether this error ended a part. */
  failed(cause: unknown): boolean;
  /** Aborts the pending request. */
  end(): void;
}

function watchOf(timeoutMs: number, outer: AbortSignal | undefined): Watch {
  const controller = new AbortController();
  const abort = () => controller.abort(outer?.reason);
  outer?.addEventListener('abort', abort, { once: true });
  let late = false;
  let failure: { cause: unknown } | undefined;
  return {
    signal: controller.signal,
    async part(arrives) {
      const expire = () => {
        late = true;
        controller.abort();
      };
      const timer = timeoutMs > MAX_TIMER_MS ? undefined : setTimeout(expire, timeoutMs);
      try {
        return await arrives;
      } catch (cause) {
        failure = { cause };
        throw cause;
      } finally {
        clearTimeout(timer);
      }
    },
    isLate: () => late,
    failed: (cause) => failure !== undefined && failure.cause === cause,
    end() {
      outer?.removeEventListener('abort', abort);
      controller.abort();
    },
  };
}
