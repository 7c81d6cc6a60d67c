import { type Origin, currentOrigin, runWithOrigin } from './origin.ts';

type Attributes = Record<string, string | number | boolean>;

/** Parameters of a new span. */
export interface SpanStart {
  /** Name of the span. It has a bounded number of values, so it must not contain ids. */
  name: string;
  kind?: 'server' | 'client' | 'producer' | 'internal';
  /** Attributes of the span. They must not contain personal data, secrets or queries. */
  attributes?: Attributes;
  /** Parent span as W3C `traceparent`; by default the current span. Null or an invalid value begins a new trace. */
  parent?: string | null;
}

/** A span in progress. */
export interface Span {
  /** The span as W3C `traceparent`. */
  readonly traceParent: string;
  set(attributes: Attributes): void;
  /** Marks the span as failed; `kind` must have a bounded number of values. */
  fail(kind: string): void;
  /** Ends the span. Must be called once. */
  end(): void;
}

/** Factory of spans. Code that traces receives undefined if tracing is disabled. */
export interface Tracing {
  begin(start: SpanStart): Span;
  /** Sends the waiting spans, and waits at most `limitMs` for that. Never rejects. */
  stop(limitMs: number): Promise<void>;
}

/** Runs `work` within a new span; without `tracing`, runs only `work`. */
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

/** Code or name of an error. Excludes the message, which can contain input of buyers. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : error.name;
}
