import { z } from 'zod';
import type { DatabaseSettings } from './store/open.ts';
import { isSecret } from './webhooks/secret.ts';

const url = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
// Paths are appended to these, and they stand in headers: so in the form in which a URL travels, and nothing behind its path.
const origin = url
  .refine((value) => {
    const parsed = URL.parse(value);
    return !parsed || parsed.username + parsed.password + parsed.search + parsed.hash === '';
  }, 'must have no user name, password, query or fragment')
  .transform((value) => new URL(value).href.replace(/\/+$/, ''));
const flag = z.enum(['true', 'false'], { error: 'must be true or false' }).transform((value) => value === 'true');
const oneOf = <Names extends [string, ...string[]]>(...names: Names) =>
  z.enum(names, { error: `must be one of ${names.join(', ')}` });
const number = (error: string) =>
  z
    .string()
    .regex(/^\d+(\.\d+)?$/, error)
    .transform(Number);
const positive = (unit: string) =>
  number(`must be a number of ${unit}`).pipe(
    z.number().int(`must be a whole number of ${unit}`).positive(`must be more than 0 ${unit}`),
  );

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
    ALLOW_UNAUTHENTICATED: flag.default(false),
    DEMO: flag.optional(),
    TEST_CLOCK: flag.default(false),
    SHUTDOWN_DELAY: number('must be a number of seconds')
      .pipe(z.number().max(300, 'must be at most 300 seconds'))
      .default(1),
    SHUTDOWN_TIMEOUT: positive('seconds').default(10),
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
    if (values.TEST_CLOCK && values.WEBHOOK_ENVIRONMENT === 'production') {
      context.addIssue({
        code: 'custom',
        path: ['TEST_CLOCK'],
        message: 'moves the time of sandbox payments only: leave it out, or set WEBHOOK_ENVIRONMENT=sandbox',
      });
    }
    if (!isLoopback(values.HOST) && !values.ALLOW_UNAUTHENTICATED) {
      context.addIssue({
        code: 'custom',
        path: ['HOST'],
        message:
          'must be a loopback address, since the API asks for no credential: put a proxy with authentication in front, or set ALLOW_UNAUTHENTICATED=true to open it to whoever reaches it',
      });
    }
  });

const SSL_MODES = ['verify-full', 'no-verify', 'disable'];

/** What is wrong with a database's URL, never with a part of its password in the words. */
function faultOfDatabaseUrl(value: string): string | undefined {
  if (/^sqlite:.+/.test(value)) return undefined;
  if (!/^postgres(?:ql)?:\/\//.test(value)) {
    return 'must be sqlite:<path>, for example sqlite:./data/tillway.db, or postgres://<user>:<password>@<host>:<port>/<database>';
  }
  if (/^[^?]*,/.test(value)) return 'must name one host: the address of the primary, wherever that moves';
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || url.hostname === '' || !/^\/[^/@]+$/.test(url.pathname) || url.hash !== '') {
    return 'must be postgres://<user>:<password>@<host>:<port>/<database>; characters such as @ / # : of the password are percent-encoded';
  }
  const mode = url.searchParams.get('sslmode');
  if (mode === null || SSL_MODES.includes(mode)) return undefined;
  return `must have sslmode ${SSL_MODES.join(', ')}: verify-full takes sslrootcert=<file> for an authority of your own, no-verify checks no certificate`;
}

function databaseOf({ DATABASE_URL: url, DATABASE_POOL_SIZE: poolSize }: Values): DatabaseSettings {
  if (url.startsWith('sqlite:')) return { kind: 'sqlite', path: url.slice('sqlite:'.length) };
  return { kind: 'postgres', url, poolSize };
}

type Values = z.output<typeof environmentSchema>;

/** Which addresses webhooks may go to: `any`, `public` ones, or `loopback` besides those. */
export type WebhookTargets = 'public' | 'loopback' | 'any';

/** Everything that can be set from outside, checked. Times are milliseconds. */
export interface Config {
  port: number;
  host: string;
  /** Undefined: the address that the server listens on. */
  baseUrl: string | undefined;
  checkoutUrl: string | undefined;
  database: DatabaseSettings;
  merchantName: string;
  routesFile: string | undefined;
  /** Undefined: the rules are the API's. */
  routingRulesFile: string | undefined;
  sessionTtlMs: number;
  webhook: { url: string; secret: string; environment: 'sandbox' | 'production' } | undefined;
  webhookTargets: WebhookTargets;
  loopbackOnly: boolean;
  /** Whether the front page lets a person create a test checkout. */
  demo: boolean;
  /** Whether time can be moved forward; there are no production payments then. */
  testClock: boolean;
  /** How long requests are still taken after SIGTERM, so that whoever routes them here can notice. */
  shutdownDelayMs: number;
  shutdownTimeoutMs: number;
  logLevel: string;
}

/** A setting that is missing or wrong; its message is one line. */
export class ConfigError extends Error {}

/** Reads the settings from environment variables. Empty ones count as not set. Throws {@link ConfigError}. */
export function readConfig(variables: Record<string, string | undefined>): Config {
  const given = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''));
  const result = environmentSchema.safeParse(given);
  if (!result.success) {
    throw new ConfigError(result.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; '));
  }
  const values = result.data;
  const loopbackOnly = isLoopback(values.HOST);
  return {
    port: values.PORT,
    host: values.HOST,
    baseUrl: values.BASE_URL,
    checkoutUrl: values.CHECKOUT_URL,
    database: databaseOf(values),
    merchantName: values.MERCHANT_NAME,
    routesFile: values.ROUTES_FILE,
    routingRulesFile: values.ROUTING_RULES_FILE,
    sessionTtlMs: values.SESSION_TTL * 1000,
    webhook:
      values.WEBHOOK_URL !== undefined && values.WEBHOOK_SECRET !== undefined
        ? { url: values.WEBHOOK_URL, secret: values.WEBHOOK_SECRET, environment: values.WEBHOOK_ENVIRONMENT }
        : undefined,
    webhookTargets: webhookTargets(values.WEBHOOK_ALLOW_PRIVATE, loopbackOnly),
    loopbackOnly,
    demo: values.DEMO ?? loopbackOnly,
    testClock: values.TEST_CLOCK,
    shutdownDelayMs: values.SHUTDOWN_DELAY * 1000,
    shutdownTimeoutMs: values.SHUTDOWN_TIMEOUT * 1000,
    logLevel: values.LOG_LEVEL,
  };
}

function webhookTargets(allowPrivate: boolean | undefined, loopbackOnly: boolean): WebhookTargets {
  if (allowPrivate !== undefined) return allowPrivate ? 'any' : 'public';
  return loopbackOnly ? 'loopback' : 'public';
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}
