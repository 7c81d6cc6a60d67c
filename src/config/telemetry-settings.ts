import { z } from 'zod';
import { number, oneOf, port, splitAtCommas, url } from './setting-fields.ts';

const HEADERS_ERROR = 'must be name=value pairs, separated by commas, values percent-encoded';
const HEADER = /^([\w!#$%&'*+.^`|~-]+)=(.*)$/;

/** Settings for metrics and traces. Settings that OpenTelemetry defines keep their standard names. */
export const TELEMETRY_VARIABLES = {
  METRICS_PORT: port.optional(),
  METRICS_HOST: z.string().min(1).default('127.0.0.1'),
  OTEL_EXPORTER_OTLP_ENDPOINT: url.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .transform((text, context) => {
      const headers: Record<string, string> = {};
      for (const pair of splitAtCommas(text)) {
        const [, name, value] = HEADER.exec(pair) ?? [];
        const decoded = value === undefined ? undefined : decode(value.trim());
        if (name === undefined || decoded === undefined) {
          context.addIssue({ code: 'custom', message: HEADERS_ERROR });
          return z.NEVER;
        }
        headers[name] = decoded;
      }
      return headers;
    })
    .default({}),
  OTEL_SERVICE_NAME: z.string().min(1).max(255).default('tillway'),
  OTEL_TRACES_SAMPLER: oneOf(
    'always_on',
    'always_off',
    'traceidratio',
    'parentbased_always_on',
    'parentbased_always_off',
    'parentbased_traceidratio',
  ).default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: number('must be a number from 0 to 1')
    .pipe(z.number().max(1, 'must be a number from 0 to 1'))
    .default(1),
};

type Values = z.output<z.ZodObject<typeof TELEMETRY_VARIABLES>>;

interface TelemetrySettings {
  metrics: { port: number; host: string } | undefined;
  /** Export of traces; undefined if it is disabled. */
  traces:
    | {
        url: string;
        headers: Record<string, string>;
        serviceName: string;
        sampler: { name: 'always_on' | 'always_off' | 'traceidratio'; parentBased: boolean; ratio: number };
      }
    | undefined;
}

/** Error message if the metrics port equals the port of the service. */
export function faultOfMetricsPort(values: Pick<Values, 'METRICS_PORT'> & { PORT: number }): string | undefined {
  const isTaken = values.METRICS_PORT !== 0 && values.METRICS_PORT === values.PORT;
  return isTaken ? 'must differ from PORT, because metrics are not public' : undefined;
}

export function telemetryOf(values: Values): TelemetrySettings {
  const { METRICS_PORT: port, METRICS_HOST: host, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = values;
  return {
    metrics: port === undefined ? undefined : { port, host },
    traces:
      endpoint === undefined
        ? undefined
        : {
            // https://opentelemetry.io/docs/specs/otel/protocol/exporter/#endpoint-urls-for-otlphttp
            url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
            headers: values.OTEL_EXPORTER_OTLP_HEADERS,
            serviceName: values.OTEL_SERVICE_NAME,
            sampler: samplerOf(values.OTEL_TRACES_SAMPLER, values.OTEL_TRACES_SAMPLER_ARG),
          },
  };
}

function samplerOf(sampler: string, ratio: number) {
  const name = sampler.replace('parentbased_', '') as 'always_on' | 'always_off' | 'traceidratio';
  return { name, parentBased: sampler !== name, ratio };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
