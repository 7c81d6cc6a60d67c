import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { VERSION } from '../domain/version.ts';
import { type AppDeps, createApp } from '../http/app.ts';
import { metricsEndpoint } from '../http/metrics.ts';
import { observeProvider } from '../providers/observed.ts';
import type { Provider } from '../providers/provider.ts';
import { type OnBatch, watchCommits } from '../store/observed.ts';
import type { OpenedStore } from '../store/database.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import { isLoopbackHost } from '../webhooks/address.ts';
import { hostInUrl, listenAt } from './addresses.ts';
import type { Metrics } from './metrics.ts';

// The process ends soon after, whether or not a collector answers.
const LAST_SPANS_MS = 2000;

/** What is measured and traced of this process; where neither is configured, everything is left as it is. */
export interface Telemetry {
  tracing: Tracing | undefined;
  requests: AppDeps['requests'];
  onBatch: OnBatch | undefined;
  store(store: OpenedStore): OpenedStore;
  provider<Observed extends Provider>(provider: Observed): Observed;
  /** Opens the port for metrics, where there is to be one. */
  open(deps: AppDeps): Promise<OpenTelemetry>;
}

export interface OpenTelemetry {
  /** Where metrics are, without a trailing slash. */
  metricsUrl: string | undefined;
  /** Answers no scrape any more. */
  close(): Promise<void>;
  /** Sends the last spans; once everything else has ended. */
  flush(): Promise<void>;
}

/** Loads nothing of what is not configured: no start waits for it. */
export async function createTelemetry({ telemetry, database }: Config, log: Logger): Promise<Telemetry> {
  const { metrics: door, traces } = telemetry;
  const tracing = traces && (await import('../telemetry/otlp.ts')).createTracing(traces, VERSION, log);
  const metrics = door && (await import('./metrics.ts')).createMetrics();
  const kind = database.kind === 'sqlite' ? 'sqlite' : 'postgresql';
  const watch = tracing || metrics ? watchCommits(kind, tracing, metrics?.commits) : undefined;
  return {
    tracing,
    requests: metrics?.requests,
    onBatch: watch?.onBatch,
    store: (store) => watch?.observed(store) ?? store,
    provider: (provider) => (watch ? observeProvider(provider, tracing, metrics?.onProviderCall) : provider),
    async open(deps) {
      const served = metrics && door ? await serveMetrics(deps, metrics, door) : undefined;
      return {
        metricsUrl: served?.url,
        close: async () => served?.close(),
        flush: async () => tracing?.stop(LAST_SPANS_MS),
      };
    },
  };
}

async function serveMetrics(
  deps: AppDeps,
  { instruments }: Metrics,
  { host, port }: { host: string; port: number },
): Promise<{ url: string; close(): Promise<void> }> {
  const [{ createWatch }, { startSeries }] = await Promise.all([import('./watch.ts'), import('./metrics.ts')]);
  const watch = createWatch(deps, instruments);
  startSeries(instruments, deps);
  const { register } = instruments;
  // As every answer of this service, but that nobody counts or traces who counts, and that scrapes fill no log.
  const log = deps.log.child({}, { level: deps.log.isLevelEnabled('debug') ? deps.log.level : 'warn' });
  const limits = { ...deps.limits, api: 'off', pages: undefined, callbacks: undefined, payments: undefined } as const;
  const own: AppDeps = { ...deps, log, limits, requests: undefined, tracing: undefined };
  // Whoever opens the port to others has them call it by a name of theirs.
  if (!isLoopbackHost(host)) own.allowedHosts = undefined;
  const app = await createApp(own, [(served) => metricsEndpoint(served, register.contentType, watch.read)]);
  const place = { setting: 'METRICS_HOST', host, portSetting: 'METRICS_PORT' };
  const bound = await listenAt(app, { ...place, port });
  watch.start();
  return {
    url: `http://${hostInUrl(host)}:${bound}`,
    async close() {
      await app.close();
      await watch.stop();
    },
  };
}
