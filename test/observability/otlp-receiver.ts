import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { listen } from './merchant.ts';

/** A span as the exporter sent it. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: Record<string, string | number | boolean>;
  status: { code?: number };
  /** Attributes of the sender. */
  resource: Record<string, string | number | boolean>;
}

export interface OtlpReceiver extends AsyncDisposable {
  url: string;
  spans: ReceivedSpan[];
  /** Number of spans sent, including rejected ones. */
  seen: number;
  /** Raw bodies. */
  bodies: string[];
  /** The headers of the last request. */
  headers: Record<string, unknown>;
  /** Status of the next answers; `hang` leaves requests open. */
  answer: number | 'hang';
}

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean };
}

type Sent = Omit<ReceivedSpan, 'attributes' | 'resource'> & { attributes: Attribute[] };

/** A collector that takes traces as OTLP over HTTP. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const receiver = {
    seen: 0,
    spans: [] as ReceivedSpan[],
    bodies: [] as string[],
    headers: {},
    answer: 200 as number | 'hang',
  };
  const held: ServerResponse[] = [];
  const server = await listen((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const bytes = Buffer.concat(chunks);
      const body = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString('utf8');
      const spans = spansOf(body);
      receiver.headers = request.headers;
      receiver.seen += spans.length;
      if (receiver.answer === 'hang') return void held.push(response);
      if (receiver.answer === 200 && request.url === '/v1/traces') {
        receiver.bodies.push(body);
        receiver.spans.push(...spans);
      }
      response.writeHead(receiver.answer, { 'content-type': 'application/json' }).end('{}');
    });
  });
  return Object.assign(receiver, {
    url: server.url,
    async [Symbol.asyncDispose]() {
      // An exporter without an answer would retry until its time limit.
      for (const response of held.filter(({ closed }) => !closed)) {
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
    resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: Sent[] }[] }[];
  };
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({ ...span, attributes: read(span.attributes), resource: read(resource.attributes) })),
    ),
  );
}

function read(attributes: Attribute[]): Record<string, string | number | boolean> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const { stringValue, intValue, doubleValue, boolValue } = value;
      return [key, stringValue ?? boolValue ?? doubleValue ?? Number(intValue)];
    }),
  );
}
