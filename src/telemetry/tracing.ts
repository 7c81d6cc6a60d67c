import { type Origin, currentOrigin, runWithOrigin } from './origin.ts';

type Attributes = Record<string, string | number | boolean>;

export interface SpanStart {
  /** Name of the span, of bounded cardinality: no ids. */
  name: string;
  kind?: 'server' | 'client' | 'producer' | 'internal';
  /** Attributes of the span: no personal data, no secret, no query. */
  attributes?: Attributes;
  /** W3C `traceparent`; the current span by default. Null or an invalid value begins a new trace. */
  parent?: string | null;
}

export interface Span {
  /** The span as W3C `traceparent`. */
  readonly traceParent: string;
  set(attributes: Attributes): void;
  /** Marks the span as failed; `kind` has bounded cardinality. */
  fail(kind: string): void;
  /** Ends the span. Must be called once. */
  end(): void;
}

/** Destination of spans; undefined without tracing. */
export interface Tracing {
  begin(start: SpanStart): Span;
  /** Sends the waiting spans, for at most `limitMs`. Never rejects. */
  stop(limitMs: number): Promise<void>;
}

/** Runs `work` within a span, if there is tracing. */
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
    return await runWithOrigin(origin, () => work(span));
  } catch (error) {
    span.fail(kindOf(error));
    throw error;
  } finally {
    span.end();
  }
}

/** Kind of an error without its message, which can contain input of buyers. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : error.name;
}
