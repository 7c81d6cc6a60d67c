import { z } from 'zod';
import { faultOfDatabaseUrl } from './config/database-url.ts';
import { faultOfTimes, limitFields, limitsOf } from './config/limits.ts';
import { apiKeys, appSchemes, encryptionKeys, flag, number, oneOf, origin, positive, url } from './config/fields.ts';
import { TELEMETRY_VARIABLES, type TelemetrySettings, faultOfMetricsPort, telemetryOf } from './config/telemetry.ts';
import type { Limits } from './http/limits.ts';
import type { DatabaseSettings } from './store/open.ts';
import { isLoopbackHost } from './webhooks/address.ts';
import { isSecret } from './webhooks/secret.ts';

const environmentSchema = z
  .object({
    PORT: number('must be a port: 0 to 65535')
      .pipe(z.number().int('must be a port: 0 to 65535').max(65_535, 'must be a port: 0 to 65535'))
      .default(3000),
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
      .pipe(z.number().min(6, 'must be at least 6: five may write at once').max(1000, 'must be at most 1000'))
      .default(10),
    MERCHANT_NAME: z.string().min(1).max(120).default('Demo merchant'),
    REDIRECT_SCHEMES: appSchemes.default([]),
    ROUTES_FILE: z.string().min(1).optional(),
    ROUTING_RULES_FILE: z.string().min(1).optional(),
    SESSION_TTL: positive('seconds').default(86_400),
    WEBHOOK_URL: url.optional(),
    WEBHOOK_SECRET: z
      .string()
      .refine(isSecret, 'must be whsec_ followed by base64 of 24 to 64 random bytes')
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
    SHUTDOWN_TIMEOUT: positive('seconds').default(10),
    ...limitFields,
    ...TELEMETRY_VARIABLES,
    LOG_LEVEL: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent').default('info'),
  })
  .superRefine((values, context) => {
    if (values.WEBHOOK_URL !== undefined && values.WEBHOOK_SECRET === undefined) {
      context.addIssue({
        code: 'custom',
        path: ['WEBHOOK_SECRET'],
        message: 'is needed with WEBHOOK_URL: whsec_ followed by base64 of 32 random bytes, "openssl rand -base64 32"',
      });
    }
    const shared = faultOfMetricsPort(values);
    if (shared !== undefined) context.addIssue({ code: 'custom', path: ['METRICS_PORT'], message: shared });
    const faulty = faultOfTimes(values);
    if (faulty !== undefined) context.addIssue({ code: 'custom', path: ['REQUEST_TIMEOUT'], message: faulty });
    if (values.TEST_CLOCK && values.WEBHOOK_ENVIRONMENT === 'production') {
      context.addIssue({
        code: 'custom',
        path: ['TEST_CLOCK'],
        message: 'moves the time of sandbox payments only: leave it out, or set WEBHOOK_ENVIRONMENT=sandbox',
      });
    }
  });

function databaseOf({ DATABASE_URL: url, DATABASE_POOL_SIZE: poolSize }: Values): DatabaseSettings {
  if (url.startsWith('sqlite:')) return { kind: 'sqlite', path: url.slice('sqlite:'.length) };
  return { kind: 'postgres', url, poolSize };
}

type Values = z.output<typeof environmentSchema>;

/** Which addresses webhooks may go to: `any`, `public` ones, or `loopback` besides those. */
export type WebhookTargets = 'public' | 'loopback' | 'any';

const EXPOSING_URLS = ['BASE_URL', 'CHECKOUT_URL'] as const;
export type ExposingSetting = 'HOST' | (typeof EXPOSING_URLS)[number] | 'TRUSTED_PROXIES';

/** Everything that can be set from outside, checked. Times are milliseconds. */
export interface Config {
  port: number;
  host: string;
  /** Undefined: the address that the server listens on. */
  baseUrl: string | undefined;
  checkoutUrl: string | undefined;
  database: DatabaseSettings;
  merchantName: string;
  /** App schemes that a redirectUrl may use, in lower case and without a colon. */
  redirectSchemes: readonly string[];
  routesFile: string | undefined;
  /** Undefined: the rules are the API's. */
  routingRulesFile: string | undefined;
  sessionTtlMs: number;
  /** How long after a test payment the simulated provider pays it out; 0: never. */
  sandboxSettlementDelayMs: number;
  webhook: { url: string; secret: string; environment: 'sandbox' | 'production' } | undefined;
  webhookTargets: WebhookTargets;
  /** 32 bytes each; the first seals webhook secrets, all open them. */
  encryptionKeys: readonly Uint8Array[];
  /** Whether it listens on this machine alone; a program on it may pass on what others send. */
  loopbackOnly: boolean;
  /** The setting by which others reach it, or are meant to; undefined where only programs of this machine do. */
  exposedBy: ExposingSetting | undefined;
  /** Whether it may be exposed without an API key. */
  allowUnauthenticated: boolean;
  /** Texts of keys to register, well formed. */
  bootstrapKeys: readonly string[];
  /** Whether the front page lets a person create a test checkout; `while_open`: as long as there is no API key. */
  demo: boolean | 'while_open';
  /** Whether time can be moved forward; there are no production payments then. */
  testClock: boolean;
  /** How long requests are still taken after SIGTERM, so that whoever routes them here can notice. */
  shutdownDelayMs: number;
  shutdownTimeoutMs: number;
  limits: Limits;
  telemetry: TelemetrySettings;
  logLevel: string;
}

/** A setting that is missing or wrong; its message is one line. */
export class ConfigError extends Error {}

/** Reads the settings from environment variables. Throws {@link ConfigError}. */
export function readConfig(variables: Record<string, string | undefined>): Config {
  const empty = Object.keys(environmentSchema.shape).filter((name) => variables[name]?.trim() === '');
  // An empty value often comes from an unfilled template. The default, such as another database, would be wrong for it.
  if (empty.length > 0) {
    throw new ConfigError(empty.map((name) => `${name} is set but empty: unset it, or give it a value`).join('; '));
  }
  const result = environmentSchema.safeParse(variables);
  if (!result.success) {
    throw new ConfigError(result.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; '));
  }
  const values = result.data;
  const exposedBy = exposingSetting(values);
  return {
    port: values.PORT,
    host: values.HOST,
    baseUrl: values.BASE_URL,
    checkoutUrl: values.CHECKOUT_URL,
    database: databaseOf(values),
    merchantName: values.MERCHANT_NAME,
    redirectSchemes: values.REDIRECT_SCHEMES,
    routesFile: values.ROUTES_FILE,
    routingRulesFile: values.ROUTING_RULES_FILE,
    sessionTtlMs: values.SESSION_TTL * 1000,
    sandboxSettlementDelayMs: values.SANDBOX_SETTLEMENT_DELAY * 1000,
    webhook:
      values.WEBHOOK_URL !== undefined && values.WEBHOOK_SECRET !== undefined
        ? { url: values.WEBHOOK_URL, secret: values.WEBHOOK_SECRET, environment: values.WEBHOOK_ENVIRONMENT }
        : undefined,
    webhookTargets: webhookTargets(values.WEBHOOK_ALLOW_PRIVATE, exposedBy !== undefined),
    encryptionKeys: values.ENCRYPTION_KEY,
    loopbackOnly: isLoopbackHost(values.HOST),
    exposedBy,
    allowUnauthenticated: values.ALLOW_UNAUTHENTICATED,
    bootstrapKeys: values.BOOTSTRAP_API_KEYS,
    demo: values.DEMO ?? (exposedBy === undefined && 'while_open'),
    testClock: values.TEST_CLOCK,
    shutdownDelayMs: values.SHUTDOWN_DELAY * 1000,
    shutdownTimeoutMs: values.SHUTDOWN_TIMEOUT * 1000,
    limits: limitsOf(values),
    telemetry: telemetryOf(values),
    logLevel: values.LOG_LEVEL,
  };
}

function webhookTargets(allowPrivate: boolean | undefined, isExposed: boolean): WebhookTargets {
  if (allowPrivate !== undefined) return allowPrivate ? 'any' : 'public';
  return isExposed ? 'public' : 'loopback';
}

/** Behind a proxy on the same machine a service listens on loopback, and is on the internet. */
function exposingSetting(values: Values): ExposingSetting | undefined {
  if (!isLoopbackHost(values.HOST)) return 'HOST';
  const named = EXPOSING_URLS.find((name) => values[name] !== undefined && !isLoopbackHost(hostOf(values[name])));
  return named ?? (values.TRUSTED_PROXIES.length > 0 ? 'TRUSTED_PROXIES' : undefined);
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}
