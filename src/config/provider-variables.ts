import type { Environment } from '../domain/route.ts';
import { CHAINS } from '../providers/evm-chains.ts';
import { ConfigError, splitAtCommas } from './setting-fields.ts';

/** A provider instance whose settings are not checked yet. */
export interface Draft {
  id: string;
  adapter: string;
  environment: Environment;
  /** The settings of the adapter, with secrets as text. */
  settings: Record<string, unknown>;
  /** Describes where a setting comes from, for error messages: the variable or file, the setting and the instance, but no value. */
  placeOf(setting: string | undefined): string;
}

/** Environment variables. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Variables that configure provider instances without PROVIDERS_FILE. */
export const PROVIDER_VARIABLES = [
  'STRIPE_SECRET_KEY',
  'STRIPE_WEBHOOK_SECRET',
  'STRIPE_TEST_SECRET_KEY',
  'STRIPE_TEST_WEBHOOK_SECRET',
  'STRIPE_API_BASE',
  'PAYPAL_CLIENT_ID',
  'PAYPAL_CLIENT_SECRET',
  'PAYPAL_WEBHOOK_ID',
  'PAYPAL_ENVIRONMENT',
  'PAYPAL_API_BASE',
  'ADYEN_API_KEY',
  'ADYEN_MERCHANT_ACCOUNT',
  'ADYEN_HMAC_KEY',
  'ADYEN_CALLBACK_USER',
  'ADYEN_CALLBACK_PASSWORD',
  'ADYEN_LIVE_PREFIX',
  'ADYEN_ENVIRONMENT',
  'ADYEN_API_BASE',
  'USDC_XPUB',
  'USDC_CHAIN',
  'USDC_RPC_URLS',
  'USDC_TOKEN',
] as const;
type Variable = (typeof PROVIDER_VARIABLES)[number];

/** The provider instances that the variables configure. Throws ConfigError. */
export function draftsOfVariables(variables: Variables): Draft[] {
  return [
    ...stripeDrafts(variables),
    ...accountDrafts(variables, PAYPAL),
    ...accountDrafts(variables, ADYEN),
    ...usdcDrafts(variables),
  ];
}

function stripeDrafts(variables: Variables): Draft[] {
  const { STRIPE_SECRET_KEY: key, STRIPE_API_BASE: apiBase } = variables;
  const environment = key === undefined ? undefined : environmentOfStripeKey(key);
  const drafts = [
    environment && stripeOf(variables, environment, ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET']),
    variables['STRIPE_TEST_SECRET_KEY'] === undefined
      ? undefined
      : stripeOf(variables, 'sandbox', ['STRIPE_TEST_SECRET_KEY', 'STRIPE_TEST_WEBHOOK_SECRET']),
  ].filter((draft) => draft !== undefined);
  for (const prefix of ['STRIPE', 'STRIPE_TEST']) {
    if (variables[`${prefix}_SECRET_KEY`] !== undefined || variables[`${prefix}_WEBHOOK_SECRET`] === undefined)
      continue;
    throw new ConfigError(`${prefix}_SECRET_KEY is needed with ${prefix}_WEBHOOK_SECRET`);
  }
  if (apiBase !== undefined && !drafts.some((draft) => draft.environment === 'sandbox')) {
    throw new ConfigError('STRIPE_API_BASE is for sandbox only: set STRIPE_SECRET_KEY to a key of the test mode');
  }
  return drafts;
}

function environmentOfStripeKey(key: string): Environment {
  if (/^[sr]k_test_/.test(key)) return 'sandbox';
  if (/^[sr]k_live_/.test(key)) return 'production';
  throw new ConfigError(
    'STRIPE_SECRET_KEY must be a secret or restricted key of Stripe: sk_test_, rk_test_, sk_live_ or rk_live_',
  );
}

function stripeOf(
  variables: Variables,
  environment: Environment,
  [keyName, webhookName]: [key: Variable, webhook: Variable],
): Draft {
  const id = environment === 'sandbox' ? 'stripe_test' : 'stripe';
  const secrets = variables[webhookName];
  if (secrets === undefined) {
    const reason = 'it verifies that a callback is from Stripe';
    throw new ConfigError(`${webhookName} (webhookSecrets of ${id}) is needed with ${keyName}: ${reason}`);
  }
  const apiBase = environment === 'sandbox' ? variables['STRIPE_API_BASE'] : undefined;
  const names: Record<string, Variable> = {
    secretKey: keyName,
    webhookSecrets: webhookName,
    apiBase: 'STRIPE_API_BASE',
  };
  return {
    id,
    adapter: 'stripe',
    environment,
    settings: {
      secretKey: variables[keyName],
      webhookSecrets: splitAtCommas(secrets),
      ...(apiBase !== undefined && { apiBase }),
    },
    placeOf: (setting) => (setting === undefined ? `${keyName} (${id})` : `${names[setting]} (${setting} of ${id})`),
  };
}

/** An adapter that variables configure for one account, in the environment that one of them names. */
interface AccountVariables {
  adapter: string;
  environment: Variable;
  /** Variables by the setting that they contain. The first one names the instance in error messages. */
  required: Readonly<Record<string, Variable>>;
  optional: Readonly<Record<string, Variable>>;
  /** Settings that are lists, which a variable separates by commas. */
  lists?: readonly string[];
}

const PAYPAL: AccountVariables = {
  adapter: 'paypal',
  environment: 'PAYPAL_ENVIRONMENT',
  required: {
    clientId: 'PAYPAL_CLIENT_ID',
    clientSecret: 'PAYPAL_CLIENT_SECRET',
    webhookId: 'PAYPAL_WEBHOOK_ID',
  },
  optional: { apiBase: 'PAYPAL_API_BASE' },
};
const ADYEN: AccountVariables = {
  adapter: 'adyen',
  environment: 'ADYEN_ENVIRONMENT',
  required: { apiKey: 'ADYEN_API_KEY', merchantAccount: 'ADYEN_MERCHANT_ACCOUNT', hmacKeys: 'ADYEN_HMAC_KEY' },
  optional: {
    callbackUser: 'ADYEN_CALLBACK_USER',
    callbackPassword: 'ADYEN_CALLBACK_PASSWORD',
    livePrefix: 'ADYEN_LIVE_PREFIX',
    apiBase: 'ADYEN_API_BASE',
  },
  lists: ['hmacKeys'],
};

function accountDrafts(variables: Variables, names: AccountVariables): Draft[] {
  const { adapter, required, optional, lists = [] } = names;
  const all: Readonly<Record<string, Variable>> = { ...required, ...optional };
  const isUnused = [...Object.values(all), names.environment].every((name) => variables[name] === undefined);
  if (isUnused) return [];
  const missing = Object.values(required).filter((name) => variables[name] === undefined);
  if (missing.length > 0) throw new ConfigError(`${missing.join(', ')} must be set to use the adapter ${adapter}`);
  const environment = variables[names.environment] ?? 'sandbox';
  if (environment !== 'sandbox' && environment !== 'production')
    throw new ConfigError(`${names.environment} must be sandbox or production`);
  const id = environment === 'sandbox' ? `${adapter}_test` : adapter;
  const settings = Object.entries(all).flatMap(([setting, name]) => {
    const text = variables[name];
    if (text === undefined) return [];
    return [[setting, lists.includes(setting) ? splitAtCommas(text) : text] as const];
  });
  const [first] = Object.values(required);
  const placeOf = (setting: string | undefined) =>
    setting === undefined ? `${first} (${id})` : `${all[setting]} (${setting} of ${id})`;
  return [{ id, adapter, environment, settings: Object.fromEntries(settings), placeOf }];
}

/** The instance that the USDC_ variables configure. It has the name of its chain. */
function usdcDrafts(variables: Variables): Draft[] {
  const { USDC_XPUB: xpub, USDC_CHAIN: name, USDC_RPC_URLS: urls, USDC_TOKEN: token } = variables;
  const names = { xpub: 'USDC_XPUB', chain: 'USDC_CHAIN', rpc: 'USDC_RPC_URLS', token: 'USDC_TOKEN' } as const;
  if (Object.values(names).every((variable) => variables[variable] === undefined)) return [];
  const missing = (['USDC_XPUB', 'USDC_CHAIN', 'USDC_RPC_URLS'] as const).filter(
    (each) => variables[each] === undefined,
  );
  if (missing.length > 0) throw new ConfigError(`${missing.join(', ')} must be set to accept USDC`);
  const chain = CHAINS.get(name!);
  if (!chain) throw new ConfigError(`USDC_CHAIN must be one of ${[...CHAINS.keys()].join(', ')}`);
  return [
    {
      id: chain.name,
      adapter: 'evm-usdc',
      environment: chain.environment,
      settings: { xpub, chain: chain.name, rpc: splitAtCommas(urls!), ...(token !== undefined && { token }) },
      placeOf: (setting) =>
        setting === undefined
          ? `USDC_CHAIN (${chain.name})`
          : `${names[setting as keyof typeof names]} (${setting} of ${chain.name})`,
    },
  ];
}
