import {
  type Span as ApiSpan,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { currentOrigin, runWithoutOrigin } from './origin.ts';
import { endsWithin } from './time-limit.ts';
import type { Span, SpanStart, Tracing } from './tracing.ts';

interface TracingSettings {
  /** URL of the collector that receives spans as OTLP over HTTP. */
  url: string;
  headers: Record<string, string>;
  serviceName: string;
  sampler: { name: 'always_on' | 'always_off' | 'traceidratio'; parentBased: boolean; ratio: number };
}

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

// Maximum number of waiting spans. Further spans are dropped, so that requests never wait for the collector.
const MAX_WAITING = 4096;
const MAX_BATCH = 512;
const SEND_EVERY_MS = 1000;
const SEND_TIMEOUT_MS = 5000;
const MAX_VALUE_LENGTH = 256;

/** Creates tracing with OpenTelemetry; `version` is the version of Tillway. */
export function createTracing(
  settings: TracingSettings,
  version: string,
  log: Log,
  sendTimeoutMs = SEND_TIMEOUT_MS,
): Tracing {
  const { url, headers, serviceName } = settings;
  const exporter = new OTLPTraceExporter({ url, headers, timeoutMillis: sendTimeoutMs });
  const processor = new BatchSpanProcessor({
    exporter: complaining(exporter, log),
    maxQueueSize: MAX_WAITING,
    maxExportBatchSize: MAX_BATCH,
    scheduledDelayMillis: SEND_EVERY_MS,
    exportTimeoutMillis: sendTimeoutMs,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName, 'service.version': version }),
    sampler: samplerOf(settings.sampler),
    spanLimits: { attributeValueLengthLimit: MAX_VALUE_LENGTH },
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer('tillway', version);

  function begin({ name, kind = 'internal', attributes, parent }: SpanStart): Span {
    const spanContext = readTraceParent(parent === undefined ? currentOrigin().traceParent : parent);
    const context = spanContext ? trace.setSpanContext(ROOT_CONTEXT, spanContext) : ROOT_CONTEXT;
    return asSpan(
      tracer.startSpan(
        name,
        { kind: SpanKind[kind.toUpperCase() as Uppercase<typeof kind>], ...(attributes && { attributes }) },
        context,
      ),
    );
  }

  return {
    begin,
    async stop(limitMs) {
      await endsWithin(
        limitMs,
        provider.shutdown().catch(() => undefined),
      );
    },
  };
}

function asSpan(span: ApiSpan): Span {
  return {
    traceParent: textOf(span.spanContext()),
    set: (attributes) => void span.setAttributes(attributes),
    fail: (kind) => void span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', kind),
    // Runs without an origin, because the processor starts a timer that outlives the request.
    end: () => runWithoutOrigin(() => span.end()),
  };
}

function textOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

// https://www.w3.org/TR/trace-context/#traceparent-header
const TRACE_PARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

function readTraceParent(text: string | null) {
  const [, traceId, spanId, flags] = TRACE_PARENT.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
}

function samplerOf({ name, parentBased, ratio }: TracingSettings['sampler']): Sampler {
  const root = { always_on: AlwaysOnSampler, always_off: AlwaysOffSampler }[name as string];
  const sampler = root ? new root() : new TraceIdRatioBasedSampler(ratio);
  return parentBased ? new ParentBasedSampler({ root: sampler }) : sampler;
}

/** Wraps an exporter: logs when the export begins to fail, and when it succeeds again. */
function complaining(exporter: SpanExporter, log: Log): SpanExporter {
  let failing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const failed = result.error !== undefined;
        if (failed && !failing) log.warn({ reason: result.error?.message }, 'traces cannot be sent');
        if (!failed && failing) log.info({}, 'traces are sent again');
        failing = failed;
        done(result);
      });
    },
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  };
}
