import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { VERSION } from '../domain/version.ts';
import { type AppDeps, createApp } from '../http/app.ts';
import { metricsEndpoint } from '../http/metrics-endpoint.ts';
import { observeProvider } from '../providers/observed-provider.ts';
import type { Provider } from '../providers/provider.ts';
import { type OnBatch, watchCommits } from '../store/commit-watch.ts';
import type { OpenedStore } from '../store/database.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import { isLoopbackHost } from '../webhooks/address.ts';
import { hostInUrl, listenAt } from './addresses.ts';
import type { Metrics } from './count-metrics.ts';

// Maximum time at exit that the process waits for the collector to accept the last spans.
const LAST_SPANS_MS = 2000;

/** Metrics and traces of this process. If both are disabled, `store` and `provider` return their argument. */
export interface Telemetry {
  tracing: Tracing | undefined;
  requests: AppDeps['requests'];
  onBatch: OnBatch | undefined;
  store(store: OpenedStore): OpenedStore;
  provider(provider: Provider): Provider;
  countForeignSignal(provider: string): void;
  countLostCallback(provider: string): void;
  /** Opens the metrics port, if one is configured. */
  open(deps: AppDeps): Promise<OpenTelemetry>;
}

interface OpenTelemetry {
  /** URL of the metrics port without a trailing slash. */
  metricsUrl: string | undefined;
  /** Closes the metrics port. */
  close(): Promise<void>;
  /** Sends the last spans. Must be called after everything else is closed. */
  flush(): Promise<void>;
}

/** Creates telemetry. Loads the libraries for metrics and traces only if they are configured. */
export async function createTelemetry({ telemetry, database }: Config, log: Logger): Promise<Telemetry> {
  const { metrics: address, traces } = telemetry;
  const tracing = traces && (await import('../telemetry/otlp.ts')).createTracing(traces, VERSION, log);
  const metrics = address && (await import('./count-metrics.ts')).createMetrics();
  const kind = database.kind === 'sqlite' ? 'sqlite' : 'postgresql';
  const watch = tracing || metrics ? watchCommits(kind, tracing, metrics?.commits) : undefined;
  return {
    tracing,
    requests: metrics?.requests,
    onBatch: watch?.onBatch,
    store: (store) => watch?.observed(store) ?? store,
    provider: (provider) => (watch ? observeProvider(provider, tracing, metrics?.onProviderCall) : provider),
    countForeignSignal: (provider) => metrics?.instruments.foreignSignals.labels(provider).inc(),
    countLostCallback: (provider) => metrics?.instruments.lostCallbacks.labels(provider).inc(),
    async open(deps) {
      const served = metrics && address ? await serveMetrics(deps, metrics, address) : undefined;
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
  const [{ createWatch }, { startSeries }] = await Promise.all([import('./watch.ts'), import('./count-metrics.ts')]);
  const watch = createWatch(deps, instruments);
  startSeries(instruments, deps);
  const { register } = instruments;
  // Creates a second app for the metrics port, which does not measure, trace or log scrapes.
  const log = deps.log.child({}, { level: deps.log.isLevelEnabled('debug') ? deps.log.level : 'warn' });
  const limits = { ...deps.limits, api: 'off', pages: undefined, callbacks: undefined, payments: undefined } as const;
  const own: AppDeps = { ...deps, log, limits, requests: undefined, tracing: undefined };
  // Accepts any host name, because scrapers on other machines use names that this process does not know.
  if (!isLoopbackHost(host)) own.allowedHosts = undefined;
  const app = await createApp(own, [(served) => metricsEndpoint(served, register.contentType, watch.read)]);
  const bound = await listenAt(app, { setting: 'METRICS_HOST', host, portSetting: 'METRICS_PORT', port });
  watch.start();
  return {
    url: `http://${hostInUrl(host)}:${bound}`,
    async close() {
      await app.close();
      await watch.stop();
    },
  };
}
