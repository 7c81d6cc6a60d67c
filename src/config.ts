import { z } from 'zod';
import {
  ConfigError,
  faultOfDatabaseUrl,
  apiKeys,
  appSchemes,
  encryptionKeys,
  flag,
  metadataKeys,
  number,
  oneOf,
  origin,
  port,
  positive,
  secondsUpTo,
  timeZone,
  url,
} from './config/setting-fields.ts';
import { dashboardFields, dashboardOf } from './config/dashboard-settings.ts';
import { faultOfTimes, limitFields, limitsOf } from './config/limit-settings.ts';
import { providerFields, readProviders } from './config/provider-settings.ts';
import { TELEMETRY_VARIABLES, faultOfMetricsPort, telemetryOf } from './config/telemetry-settings.ts';
import type { ProviderInstance } from './providers/all.ts';
import type { DatabaseSettings } from './store/open.ts';
import { type WebhookTargets, isLoopbackHost, isLoopbackUrl } from './webhooks/address.ts';
import { isWebhookSecret } from './webhooks/secret-box.ts';

/** Ten years. The end of a session must be a valid date. */
const MAX_SESSION_TTL = 315_360_000;
/** A day. A timer of Node with a duration above 2^31 ms fires at once, which would end the shutdown without a drain. */
const MAX_SHUTDOWN_TIMEOUT = 86_400;

const environmentSchema = z
  .object({
    PORT: port.default(3000),
    HOST: z.string().min(1).default('127.0.0.1'),
    BASE_URL: origin.optional(),
    CHECKOUT_URL: origin.optional(),
    DATABASE_URL: z
      .string()
      .superRefine((value, context) => {
        const message = faultOfDatabaseUrl(value);
        if (message !== undefined) context.addIssue({ code: 'custom', message });
      })
      .default('sqlite:./data/tillway.db'),
    DATABASE_POOL_SIZE: positive('connections')
      .pipe(
        z
          .number()
          .min(6, 'must be at least 6, because several connections write at once')
          .max(1000, 'must be at most 1000'),
      )
      .default(10),
    MERCHANT_NAME: z.string().min(1).max(120).default('Demo merchant'),
    REPORTING_TIME_ZONE: timeZone.default('UTC'),
    SEARCH_METADATA_KEYS: metadataKeys.default(['orderId']),
    REDIRECT_SCHEMES: appSchemes.default([]),
    ROUTES_FILE: z.string().min(1).optional(),
    ROUTING_RULES_FILE: z.string().min(1).optional(),
    ROUTING_METADATA_KEY: z.string().min(1).max(40).optional(),
    SESSION_TTL: secondsUpTo(MAX_SESSION_TTL).default(86_400),
    WEBHOOK_URL: url
      .refine((value) => {
        const { username = '', password = '' } = URL.parse(value) ?? {};
        return username + password === '';
      }, 'must have no user name or password: the signature authenticates deliveries')
      .optional(),
    WEBHOOK_SECRET: z
      .string()
      .refine(isWebhookSecret, 'must be whsec_ followed by base64 of 24 to 64 random bytes')
      .optional(),
    WEBHOOK_ENVIRONMENT: oneOf('sandbox', 'production').default('sandbox'),
    WEBHOOK_ALLOW_PRIVATE: flag.optional(),
    ENCRYPTION_KEY: encryptionKeys.default([]),
    ALLOW_UNAUTHENTICATED: flag.default(false),
    BOOTSTRAP_API_KEYS: apiKeys.default([]),
    SANDBOX_SETTLEMENT_DELAY: number('must be a number of seconds')
      .pipe(z.number().int('must be a whole number of seconds').max(2_592_000, 'must be at most 2592000 seconds'))
      .default(86_400),
    DEMO: flag.optional(),
    TEST_CLOCK: flag.default(false),
    SHUTDOWN_DELAY: number('must be a number of seconds')
      .pipe(z.number().max(300, 'must be at most 300 seconds'))
      .default(1),
    SHUTDOWN_TIMEOUT: secondsUpTo(MAX_SHUTDOWN_TIMEOUT).default(10),
    ...providerFields,
    ...limitFields,
    ...dashboardFields,
    ...TELEMETRY_VARIABLES,
    LOG_LEVEL: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent').default('info'),
  })
  .superRefine((values, context) => {
    const needsSecret = values.WEBHOOK_URL !== undefined && values.WEBHOOK_SECRET === undefined;
    const faults = {
      WEBHOOK_SECRET: needsSecret
        ? 'is needed with WEBHOOK_URL: whsec_ followed by base64 of 32 random bytes, "openssl rand -base64 32"'
        : undefined,
      METRICS_PORT: faultOfMetricsPort(values),
      REQUEST_TIMEOUT: faultOfTimes(values),
      TEST_CLOCK: faultOfTestClock(values),
    };
    for (const [name, message] of Object.entries(faults)) {
      if (message !== undefined) context.addIssue({ code: 'custom', path: [name], message });
    }
  });

function faultOfTestClock({ TEST_CLOCK, WEBHOOK_ENVIRONMENT, DATABASE_URL }: Values): string | undefined {
  if (!TEST_CLOCK) return undefined;
  if (WEBHOOK_ENVIRONMENT === 'production') {
    return 'moves the time of sandbox payments only: leave it out, or set WEBHOOK_ENVIRONMENT=sandbox';
  }
  if (DATABASE_URL.startsWith('sqlite:')) return undefined;
  return 'is for a single instance, and instances can share a PostgreSQL database: leave it out, or set DATABASE_URL=sqlite:<path>';
}

function databaseOf({ DATABASE_URL: url, DATABASE_POOL_SIZE: poolSize }: Values): DatabaseSettings {
  if (url.startsWith('sqlite:')) return { kind: 'sqlite', path: url.slice('sqlite:'.length) };
  return { kind: 'postgres', url, poolSize };
}

type Values = z.output<typeof environmentSchema>;

const EXPOSING_URLS = ['BASE_URL', 'CHECKOUT_URL', 'DASHBOARD_URL'] as const;
/** Name of a setting that lets other machines reach the service. */
export type ExposingSetting = 'HOST' | (typeof EXPOSING_URLS)[number] | 'TRUSTED_PROXIES';

/** All settings of the service, validated. Times are in milliseconds. */
export type Config = ReturnType<typeof configOf>;

export { ConfigError };

/** Reads the settings from environment variables. Throws {@link ConfigError}. */
export function readConfig(variables: Record<string, string | undefined>): Config {
  const empty = Object.keys(environmentSchema.shape).filter((name) => variables[name]?.trim() === '');
  // Rejects empty values, which often come from a template that was not filled in. The default, such as another database, would
  // hide that mistake.
  if (empty.length > 0) {
    throw new ConfigError(empty.map((name) => `${name} is set but empty: unset it, or give it a value`).join('; '));
  }
  const result = environmentSchema.safeParse(variables);
  if (!result.success) {
    throw new ConfigError(result.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; '));
  }
  const providers = readProviders(variables);
  const fault = faultOfProviders(providers, result.data);
  if (fault !== undefined) throw new ConfigError(fault);
  return configOf(result.data, providers);
}

/** Error message for settings that contradict the configured providers; undefined if the settings are valid. */
function faultOfProviders(providers: readonly ProviderInstance[], values: Values): string | undefined {
  const unmoved = providers.find(
    ({ allowsTestClock, environment }) => !allowsTestClock || environment === 'production',
  );
  if (unmoved && values.TEST_CLOCK) {
    return `TEST_CLOCK cannot be used with the provider ${unmoved.id}: the time of ${unmoved.adapter} does not move`;
  }
  const live = providers.find(({ environment }) => environment === 'production');
  if (!live || values.BASE_URL?.startsWith('https:')) return undefined;
  return `BASE_URL must be the public https URL of this service, because the provider ${live.id} takes production payments`;
}

function configOf(values: Values, providers: readonly ProviderInstance[]) {
  const exposedBy = exposingSetting(values);
  const { WEBHOOK_URL: url, WEBHOOK_SECRET: secret, WEBHOOK_ENVIRONMENT: environment } = values;
  return {
    port: values.PORT,
    host: values.HOST,
    /** Public URL of the service; undefined: the address at which the service listens. */
    baseUrl: values.BASE_URL,
    checkoutUrl: values.CHECKOUT_URL,
    database: databaseOf(values),
    merchantName: values.MERCHANT_NAME,
    /** IANA time zone of the days of reports. */
    reportingZone: values.REPORTING_TIME_ZONE,
    /** Metadata keys whose values the search finds. */
    searchMetadataKeys: values.SEARCH_METADATA_KEYS as readonly string[],
    /** App schemes that a redirectUrl may have, in lower case and without a colon. */
    redirectSchemes: values.REDIRECT_SCHEMES as readonly string[],
    routesFile: values.ROUTES_FILE,
    providers,
    /** True if the simulated provider takes payments; undefined: only if no other sandbox provider is configured. */
    simulator: values.SIMULATOR,
    /** File of the routing rules; undefined if the API manages the rules. */
    routingRulesFile: values.ROUTING_RULES_FILE,
    routingMetadataKey: values.ROUTING_METADATA_KEY,
    sessionTtlMs: values.SESSION_TTL * 1000,
    /** Time from a test payment to its payout by the simulated provider; 0: no payouts. */
    sandboxSettlementDelayMs: values.SANDBOX_SETTLEMENT_DELAY * 1000,
    webhook: url !== undefined && secret !== undefined ? { url, secret, environment } : undefined,
    webhookTargets: webhookTargets(values.WEBHOOK_ALLOW_PRIVATE, exposedBy !== undefined),
    /** Keys of 32 bytes for webhook secrets. The first key encrypts; all keys are tried to decrypt. */
    encryptionKeys: values.ENCRYPTION_KEY as readonly Uint8Array[],
    /** True if the service listens on a loopback address. A proxy on this machine can still forward requests of other machines. */
    loopbackOnly: isLoopbackHost(values.HOST),
    /** The setting that exposes the service to other machines; undefined if only programs on this machine can reach it. */
    exposedBy,
    /** True if the service may start without an API key although other machines can reach it. */
    allowUnauthenticated: values.ALLOW_UNAUTHENTICATED,
    /** API keys to register at the start, in clear text; their format is valid. */
    bootstrapKeys: values.BOOTSTRAP_API_KEYS as readonly string[],
    /** True if the front page offers a test checkout; `while_open`: only while the service has no API key. */
    demo: values.DEMO ?? (exposedBy === undefined && ('while_open' as const)),
    /** True if the service has a test clock; it then accepts no production payments. */
    testClock: values.TEST_CLOCK,
    /** Time for which the service accepts requests after SIGTERM, until load balancers have seen that it is not ready. */
    shutdownDelayMs: values.SHUTDOWN_DELAY * 1000,
    shutdownTimeoutMs: values.SHUTDOWN_TIMEOUT * 1000,
    limits: limitsOf(values),
    dashboard: dashboardOf(values),
    telemetry: telemetryOf(values),
    logLevel: values.LOG_LEVEL as string,
  };
}

function webhookTargets(allowPrivate: boolean | undefined, isExposed: boolean): WebhookTargets {
  if (allowPrivate !== undefined) return allowPrivate ? 'any' : 'public';
  return isExposed ? 'public' : 'loopback';
}

/** The setting that exposes the service. A service on a loopback address is exposed if a proxy on this machine serves its URLs. */
function exposingSetting(values: Values): ExposingSetting | undefined {
  if (!isLoopbackHost(values.HOST)) return 'HOST';
  const named = EXPOSING_URLS.find((name) => values[name] !== undefined && !isLoopbackUrl(values[name]));
  return named ?? (values.TRUSTED_PROXIES.length > 0 ? 'TRUSTED_PROXIES' : undefined);
}
