import type { z } from 'zod';
import type { Environment } from '../domain/route.ts';
import type { AdapterContext, Instance } from './adapter-context.ts';
import { adyenRoutes, adyenSettings, faultOfAdyen } from './adyen-settings.ts';
import { evmRoutes, evmSettings, faultOfEvm } from './evm-settings.ts';
import { faultOfPaypal, paypalRoutes, paypalSettings } from './paypal-settings.ts';
import type { AddressBook, Provider } from './provider.ts';
import { faultOfStripe, stripeRoutes, stripeSettings } from './stripe-settings.ts';

/** Id of the simulated provider, which is a part of the service and is not configured. */
export const SIMULATOR_ID = 'sandbox';

/** An instance whose settings are valid. The settings are not visible, because they contain secrets. */
export interface ProviderInstance {
  id: string;
  adapter: string;
  environment: Environment;
  /** The provider's id of the account, if it is configured. */
  account?: string | undefined;
  /** Default routes, in the form of the catalogue file. */
  routes: readonly unknown[];
  /** True if the service can have a test clock, although the time of the provider does not move with it. */
  allowsTestClock?: boolean;
  create(context: AdapterContext): Promise<Provider>;
  /** Only for adapters that derive an address for each payment. Sends no request. */
  addressBook?(context: Pick<AdapterContext, 'now'>): Promise<AddressBook>;
}

/** Fault of one setting; `message` continues its name ("is missing"). Without `setting`, `message` is a whole sentence. */
interface SettingFault {
  setting: string | undefined;
  message: string;
}

/** A kind of provider that can be configured. */
export interface Adapter {
  /** Settings that must not be written in the providers file. */
  secrets: readonly string[];
  read(instance: Instance<Record<string, unknown>>): ProviderInstance | SettingFault[];
}

interface AdapterDefinition<Settings extends object> {
  name: string;
  secrets: readonly (keyof Settings & string)[];
  settings: z.ZodType<Settings>;
  /** Contradiction between settings, as a sentence that begins with the name of a setting; undefined if there is none. */
  faultOf(environment: Environment, settings: Settings): string | undefined;
  routesOf(id: string, environment: Environment, settings: Settings): readonly unknown[];
  accountOf?(settings: Settings): string | undefined;
  allowsTestClock?: boolean;
  create(instance: Instance<Settings>, context: AdapterContext): Promise<Provider>;
  addressBook?(settings: Settings, context: Pick<AdapterContext, 'now'>): Promise<AddressBook>;
}

/** The adapters by name. The module of an adapter is loaded when an instance of it is created. */
export const ADAPTERS: ReadonlyMap<string, Adapter> = new Map([
  adapter({
    name: 'stripe',
    secrets: ['secretKey', 'webhookSecrets'],
    settings: stripeSettings,
    faultOf: faultOfStripe,
    routesOf: stripeRoutes,
    accountOf: ({ account }) => account,
    create: async (instance, context) => (await import('./stripe.ts')).createStripe(instance, context),
  }),
  adapter({
    name: 'paypal',
    secrets: ['clientSecret'],
    settings: paypalSettings,
    faultOf: faultOfPaypal,
    routesOf: paypalRoutes,
    create: async (instance, context) => (await import('./paypal.ts')).createPaypal(instance, context),
  }),
  adapter({
    name: 'adyen',
    secrets: ['apiKey', 'hmacKeys', 'callbackPassword'],
    settings: adyenSettings,
    faultOf: faultOfAdyen,
    routesOf: adyenRoutes,
    accountOf: ({ merchantAccount }) => merchantAccount,
    create: async (instance, context) => (await import('./adyen.ts')).createAdyen(instance, context),
  }),
  adapter({
    name: 'evm-usdc',
    secrets: ['xpub', 'rpc'],
    settings: evmSettings,
    faultOf: faultOfEvm,
    routesOf: evmRoutes,
    allowsTestClock: true,
    create: async (instance, context) => (await import('./evm-usdc.ts')).createEvmUsdc(instance, context),
    addressBook: async (settings, context) => (await import('./evm-addresses.ts')).createAddressBook(settings, context),
  }),
]);

function adapter<Settings extends object>(definition: AdapterDefinition<Settings>): [string, Adapter] {
  const {
    name,
    secrets,
    settings: schema,
    faultOf,
    routesOf,
    accountOf,
    allowsTestClock = false,
    create,
    addressBook,
  } = definition;
  const read: Adapter['read'] = ({ id, environment, settings: given }) => {
    const { success, data: settings, error } = schema.safeParse(given);
    if (!success) {
      const faults = error.issues.flatMap((issue) => faultsOfIssue(issue, given));
      // One value can have several faults. The first one is enough.
      return faults.filter(({ setting }, index) => index === faults.findIndex((one) => one.setting === setting));
    }
    const fault = faultOf(environment, settings);
    if (fault !== undefined) return [faultOfSentence(fault, given)];
    const account = accountOf?.(settings);
    const routes = routesOf(id, environment, settings);
    const created = (context: AdapterContext) => create({ id, environment, settings }, context);
    const booked = addressBook && {
      addressBook: (context: Pick<AdapterContext, 'now'>) => addressBook(settings, context),
    };
    return { id, adapter: name, environment, account, routes, allowsTestClock, create: created, ...booked };
  };
  return [name, { secrets, read }];
}

function faultsOfIssue(issue: z.core.$ZodIssue, given: Record<string, unknown>): SettingFault[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((setting) => ({ setting, message: 'is not a setting' }));
  const setting = issue.path[0]?.toString();
  // For a missing value, Zod's message names only the expected type.
  const isMissing = setting !== undefined && !Object.hasOwn(given, setting);
  return [{ setting, message: isMissing ? 'is missing' : issue.message }];
}

function faultOfSentence(sentence: string, given: Record<string, unknown>): SettingFault {
  const [, setting, message] = /^(\w+) (.*)$/.exec(sentence) ?? [];
  const isSetting = setting !== undefined && Object.hasOwn(given, setting);
  return isSetting ? { setting, message: message! } : { setting: undefined, message: sentence };
}
