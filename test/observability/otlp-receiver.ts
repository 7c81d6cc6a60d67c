import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { startServer } from '../support/http-server.ts';

type Attributes = Record<string, string | number | boolean>;

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: Attributes;
  /** Attributes of the service that sent the span. */
  resource: Attributes;
}

export type OtlpReceiver = Awaited<ReturnType<typeof startOtlpReceiver>>;

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean };
}

type ExportedSpan = Omit<ReceivedSpan, 'attributes' | 'resource'> & { attributes: Attribute[] };

/** A collector that accepts traces as OTLP over HTTP. */
export async function startOtlpReceiver() {
  const receiver = {
    spans: [] as ReceivedSpan[],
    /** Number of received spans, including rejected spans. */
    seen: 0,
    headers: {} as Record<string, unknown>,
    /** HTTP status of the next responses; `hang` leaves requests open. */
    answer: 200 as number | 'hang',
  };
  const openResponses: ServerResponse[] = [];
  const server = await startServer(async (request, response) => {
    const bytes = await buffer(request);
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
    const spans = spansOf(body.toString('utf8'));
    receiver.headers = request.headers;
    receiver.seen += spans.length;
    if (receiver.answer === 'hang') return void openResponses.push(response);
    if (receiver.answer === 200 && request.url === '/v1/traces') receiver.spans.push(...spans);
    response.writeHead(receiver.answer, { 'content-type': 'application/json' }).end('{}');
  });
  return Object.assign(receiver, {
    url: server.url,
    async [Symbol.asyncDispose]() {
      // An exporter that gets no response would wait until its timeout.
      for (const response of openResponses.filter(({ closed }) => !closed)) {
        const closed = once(response, 'close');
        response.writeHead(400).end();
        await closed;
      }
      await server[Symbol.asyncDispose]();
    },
  });
}

function spansOf(body: string): ReceivedSpan[] {
  const { resourceSpans } = JSON.parse(body) as {
    resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: ExportedSpan[] }[] }[];
  };
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({ ...span, attributes: read(span.attributes), resource: read(resource.attributes) })),
    ),
  );
}

function read(attributes: Attribute[]): Attributes {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const { stringValue, intValue, doubleValue, boolValue } = value;
      return [key, stringValue ?? boolValue ?? doubleValue ?? Number(intValue)];
    }),
  );
}
