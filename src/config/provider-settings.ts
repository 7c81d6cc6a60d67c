import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { isRecord } from '../domain/is-record.ts';
import { ENVIRONMENTS } from '../domain/route.ts';
import { ADAPTERS, type ProviderInstance, SIMULATOR_ID } from '../providers/all.ts';
import { type Draft, PROVIDER_VARIABLES, type Variables, draftsOfVariables } from './provider-variables.ts';
import { ConfigError, flag } from './setting-fields.ts';

/** Settings of providers; {@link readProviders} reads them. */
export const providerFields = {
  ...Object.fromEntries(PROVIDER_VARIABLES.map((name) => [name, z.string().optional()])),
  PROVIDERS_FILE: z.string().min(1).optional(),
  SIMULATOR: flag.optional(),
};

const ID = /^[a-z][a-z0-9_]{1,59}$/;
const reference = z.union([z.strictObject({ env: z.string().min(1) }), z.strictObject({ file: z.string().min(1) })]);
type Reference = z.output<typeof reference>;

/** Reads the provider instances from the variables and PROVIDERS_FILE. Throws {@link ConfigError} without any value in its message. */
export function readProviders(variables: Variables): ProviderInstance[] {
  const { PROVIDERS_FILE: path } = variables;
  const drafts = [...draftsOfVariables(variables), ...(path === undefined ? [] : draftsOfFile(path, variables))];
  for (const [index, { id, placeOf }] of drafts.entries()) {
    const first = drafts.findIndex((other) => other.id === id);
    if (first === index) continue;
    throw new ConfigError(`${placeOf(undefined)} has an id that is taken: ${drafts[first]!.placeOf(undefined)} has it`);
  }
  return drafts.map(instanceOf);
}

function instanceOf({ id, adapter, environment, settings, placeOf }: Draft): ProviderInstance {
  const read = ADAPTERS.get(adapter)!.read({ id, environment, settings });
  if (!Array.isArray(read)) return read;
  throw new ConfigError(read.map(({ setting, message }) => `${placeOf(setting)} ${message}`).join('; '));
}

function draftsOfFile(path: string, variables: Variables): Draft[] {
  const place = `PROVIDERS_FILE ${path}`;
  const { providers, ...others } = objectOf(jsonOf(path, place), place);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new ConfigError(`${place}: ${unknown} is not a setting; write {"providers": [...]}`);
  if (!Array.isArray(providers)) throw new ConfigError(`${place}: providers must be a list`);
  return providers.map((entry: unknown, index) => draftOf(objectOf(entry, `${place}: providers.${index}`), index));

  function draftOf({ id, adapter, environment, ...given }: Record<string, unknown>, index: number): Draft {
    const entry = `${place}: providers.${index}`;
    if (typeof id !== 'string' || !ID.test(id) || id === SIMULATOR_ID) {
      const rule = 'must be 2 to 60 small letters, digits and _, begin with a letter, and not be sandbox';
      throw new ConfigError(`${entry}.id ${rule}`);
    }
    const known = typeof adapter === 'string' ? ADAPTERS.get(adapter) : undefined;
    if (!known) throw new ConfigError(`${place}: adapter of ${id} must be one of ${[...ADAPTERS.keys()].join(', ')}`);
    const named = ENVIRONMENTS.find((each) => each === environment);
    if (!named) throw new ConfigError(`${place}: environment of ${id} must be one of ${ENVIRONMENTS.join(', ')}`);
    const sources = new Map<string, string>();
    const settings = Object.entries(given).map(([setting, value]) => {
      const at = `${place}: ${setting} of ${id}`;
      const { resolved, names } = resolve(value, variables, { at, isSecret: known.secrets.includes(setting) });
      if (names.length > 0) sources.set(setting, ` (${names.join(', ')})`);
      return [setting, resolved];
    });
    const placeOf = (setting: string | undefined) =>
      setting === undefined ? `${place}: ${id}` : `${place}: ${setting} of ${id}${sources.get(setting) ?? ''}`;
    return { id, adapter: adapter as string, environment: named, settings: Object.fromEntries(settings), placeOf };
  }
}

interface Resolved {
  resolved: unknown;
  /** Names of the variables and files to which the references in the setting refer. */
  names: string[];
}

/** Replaces the references in a setting with their texts. Throws {@link ConfigError} for a secret that is not a reference. */
function resolve(value: unknown, variables: Variables, about: { at: string; isSecret: boolean }): Resolved {
  if (Array.isArray(value)) {
    const items = value.map((item) => resolve(item, variables, about));
    return { resolved: items.map(({ resolved }) => resolved), names: items.flatMap(({ names }) => names) };
  }
  const { success, data } = reference.safeParse(value);
  if (success) return textOf(data, variables, about.at);
  if (!about.isSecret) return { resolved: value, names: [] };
  throw new ConfigError(`${about.at} must be {"env": "<variable>"} or {"file": "<path>"}, because it is a secret`);
}

function textOf(source: Reference, variables: Variables, at: string): Resolved {
  const name = 'env' in source ? source.env : source.file;
  const text = 'env' in source ? variables[name] : textOfFile(name, `${at}: the file ${name}`);
  if (text === undefined) throw new ConfigError(`${at}: the variable ${name} is not set`);
  const resolved = text.trim();
  if (resolved === '')
    throw new ConfigError(`${at}: ${'env' in source ? 'the variable' : 'the file'} ${name} is empty`);
  return { resolved, names: [name] };
}

function jsonOf(path: string, place: string): unknown {
  const text = textOfFile(path, place);
  try {
    return JSON.parse(text);
  } catch {
    // Omits the message of the parser, which quotes a part of the file that can be a secret.
    throw new ConfigError(`${place} is not valid JSON`);
  }
}

function textOfFile(path: string, place: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError(`${place} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

function objectOf(value: unknown, place: string): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw new ConfigError(`${place} must be an object`);
}
