import { type Origin, currentOrigin, onBehalfOf } from './origin.ts';

export type Attributes = Record<string, string | number | boolean>;

export interface SpanStart {
  /** Of bounded cardinality: no ids. */
  name: string;
  kind?: 'server' | 'client' | 'producer' | 'internal';
  /** Nothing of a person, no secret, no query. */
  attributes?: Attributes;
  /** W3C `traceparent`; the span under way where it is left out, and a trace of its own for null or what is not one. */
  parent?: string | null;
}

export interface Span {
  /** As W3C `traceparent`. */
  readonly traceParent: string;
  set(attributes: Attributes): void;
  /** It did not do what it was to do; `kind` is of bounded cardinality. */
  fail(kind: string): void;
  /** Once. */
  end(): void;
}

/** Where spans go; there is none where tracing is off. */
export interface Tracing {
  begin(start: SpanStart): Span;
  /** Sends what waits, for at most so long. Never rejects. */
  stop(limitMs: number): Promise<void>;
}

/** Does `work` within a span; where tracing is off, it is merely done. */
export function traced<Result>(
  tracing: Tracing | undefined,
  start: SpanStart,
  work: (span: Span | undefined) => Promise<Result>,
): Promise<Result> {
  return tracing ? within(tracing.begin(start), work) : work(undefined);
}

async function within<Result>(span: Span, work: (span: Span) => Promise<Result>): Promise<Result> {
  const origin: Origin = { requestId: currentOrigin().requestId, traceParent: span.traceParent };
  try {
    return await onBehalfOf(origin, () => work(span));
  } catch (error) {
    span.fail(kindOf(error));
    throw error;
  } finally {
    span.end();
  }
}

/** What an error is, without its words: buyers' input can stand in those. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : error.name;
}
