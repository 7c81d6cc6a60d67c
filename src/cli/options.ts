import { readFileSync } from 'node:fs';
import { Option } from 'commander';
import { ENVIRONMENTS, ROUTE_KINDS } from '../domain/route.ts';
import { EVERY_TYPE, type EventType } from '../domain/webhook-endpoint.ts';
import { CommandError, type Terminal } from './command-context.ts';

// Option values are parsed strictly: an invalid value throws CommandError 2 with the name of the option and an example.

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;
const DECIMAL = /^-?(?:\d+|\d*\.\d+)$/;

/** Parses a decimal number; rejects exponents, hexadecimal and separators. */
export function numberOf(option: string, text: string, example: string): number {
  if (!DECIMAL.test(text)) throw refused(option, 'a number', example, text);
  return Number(text);
}

/** Parses US dollars. Rejects more than two decimals, because rounding would change the amount. */
export function amountOf(option: string, text: string): number {
  const number = numberOf(option, text, '49.99');
  if (/\.\d{3}/.test(text)) throw refused(option, 'US dollars with at most two decimals', '49.99', text);
  return number;
}

function wholeNumberOf(option: string, text: string, example: string): number {
  const number = /^[1-9]\d*$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(number)) throw refused(option, 'a whole number of 1 or more', example, text);
  return number;
}

function refused(option: string, wanted: string, example: string, text: string): CommandError {
  return new CommandError(2, `${option} takes ${wanted}, such as ${example}, not ${JSON.stringify(text)}`);
}

export function option(flags: string, description: string, parse?: (text: string) => unknown): Option {
  const made = new Option(flags, description);
  return parse ? made.argParser(parse) : made;
}

export function choiceOption(flags: string, description: string, choices: readonly string[]): Option {
  return new Option(flags, description).choices(choices);
}

export function amountOption(name: string, description: string): Option {
  return option(`${name} <number>`, description, (text) => amountOf(name, text));
}

export function wholeNumberOption(name: string, description: string, example: string): Option {
  return option(`${name} <number>`, description, (text) => wholeNumberOf(name, text, example));
}

/** Option for an ISO 8601 time with a time zone; the value stays the typed text. */
export function timeOption(name: string, description: string): Option {
  return option(`${name} <time>`, `${description}: 2026-01-15T09:30:00Z`, (text) => {
    if (ISO_TIME.test(text) && !Number.isNaN(Date.parse(text))) return text;
    throw refused(name, 'a time with its zone', '2026-01-15T09:30:00Z', text);
  });
}

/** Option for event types separated by commas. */
export function eventTypesOption(purpose: string): Option {
  const description = `event types to ${purpose}, separated by commas: ${EVERY_TYPE.join(', ')}; default: the first three`;
  return option('--events <types>', description, eventTypesOf);
}

function eventTypesOf(text: string): EventType[] {
  return text.split(',').map((each) => {
    const type = EVERY_TYPE.find((known) => known === each.trim());
    if (type !== undefined) return type;
    throw new CommandError(2, `--events takes ${EVERY_TYPE.join(', ')}, not ${JSON.stringify(each.trim())}`);
  });
}

export function statusOption(statuses: readonly string[]): Option {
  return choiceOption('--status <status>', 'records with this status', statuses);
}

/** Filters by the id of a related record, such as `--payment-id`. */
export function idOptions(...records: string[]): Option[] {
  return records.map((record) => option(`--${record}-id <id>`, `records of this ${record}`));
}

/** Reads a file, or standard input for `-`. Throws {@link CommandError} 2 if reading fails. */
export async function contentOf(file: string, { readInput }: Pick<Terminal, 'readInput'>): Promise<Buffer> {
  try {
    return file === '-' ? Buffer.from(await readInput()) : readFileSync(file);
  } catch (error) {
    throw new CommandError(2, `${file} cannot be read: ${(error as Error).message}`);
  }
}

/** Reads and parses a JSON file, with or without a byte order mark. */
export function fileOf(path: string): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(readFileSync(path)));
  } catch (error) {
    throw new CommandError(2, `${path}: ${(error as Error).message}`);
  }
}

export function environmentOption(description: string): Option {
  return choiceOption('--environment <environment>', description, ENVIRONMENTS);
}

/** Environment option for commands about exactly one environment; the default is `usualEnvironment`. */
export function usualEnvironmentOption(): Option {
  return environmentOption('default: environment of the API key, else sandbox');
}

export function kindOption(description: string): Option {
  return choiceOption('--kind <kind>', description, ROUTE_KINDS);
}

/** Option that collects `KEY=VALUE` pairs in an object. A value may contain `=` and may be empty. */
export function metadataOption(): Option {
  return new Option('--metadata <key=value>', 'your own data; can be repeated')
    .argParser((text: string, before: Record<string, string>) => {
      const [, key, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
      if (key === undefined) throw refused('--metadata', 'KEY=VALUE', 'orderId=A-1001', text);
      if (Object.hasOwn(before, key)) throw new CommandError(2, `--metadata is given twice for ${key}`);
      return Object.fromEntries([...Object.entries(before), [key, value!]]);
    })
    .default({}, 'none');
}
