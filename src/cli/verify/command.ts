import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { type CommandContext, CommandError, type Paint, describedCommand } from '../context.ts';
import { durationOf, durationText } from '../duration.ts';
import { facts } from '../table.ts';
import { collect, environmentOption } from '../values.ts';
import { diagnose } from './diagnose.ts';
import type { Diagnosis, Finding } from './diagnosis.ts';
import { type HeaderLine, readHeaders } from './headers.ts';
import type { GivenSecret } from './keys.ts';
import { plain } from '../words.ts';

interface Options {
  secret: string[];
  headers?: string;
  header: string[];
  body: string;
  environment?: 'sandbox' | 'production';
  tolerance: string;
}

const NAMED = /^([a-z][a-z0-9-]*)=(.*)$/s;
const WIDTH = 100;

/** `webhook verify`: whether a delivery is genuine, and exactly why not. Asks no service. */
export function webhookVerifyCommand(context: CommandContext): Command {
  const command = describedCommand('verify', {
    summary: 'Say whether a webhook is genuine, and exactly why not',
    details:
      'Takes the request as your endpoint received it: its headers, and its body as raw bytes. Where the signature is ' +
      'wrong, everything that usually goes wrong is tried until it is right: that names the mistake. Exit code 0: ' +
      'genuine, 1: not. No service is asked.',
    examples: [
      'tillway webhook verify --secret whsec_... --headers headers.txt --body body.json',
      "tillway webhook verify --secret whsec_... --header 'x-gateway-signature: t=...,v1=...' < body.json",
      'tillway webhook verify --secret production=whsec_... --secret sandbox=whsec_... --headers headers.txt --body body.json',
    ],
    remote: false,
  })
    .addOption(
      new Option('--secret <secret>', 'what it was signed with; several times with a name: sandbox=whsec_...')
        .argParser((text: string, before: string[] | undefined) => collect(text, before ?? []))
        .makeOptionMandatory(),
    )
    .option('--headers <file>', 'the headers: "name: value" lines, or a JSON object')
    .addOption(
      new Option('--header <header>', 'one header, "name: value"; may be given several times')
        .argParser(collect)
        .default([], 'none'),
    )
    .option('--body <file>', 'the body as it was received; default -, the standard input', '-')
    .addOption(environmentOption('the one that you expect'))
    .option('--tolerance <time>', 'how old it may be; default 5m', '5m');

  return command.action(async (options: Options) => {
    const headers = headersOf(options);
    const diagnosis = diagnose({
      headers,
      body: await bodyOf(context, options.body),
      secrets: options.secret.map(secretOf),
      now: Math.floor(context.terminal.now() / 1000),
      toleranceSeconds: durationOf('--tolerance', options.tolerance),
      environment: options.environment,
    });
    context.tell(command, { object: 'webhook_verification', ...diagnosis }, tellDiagnosis);
    if (!diagnosis.genuine) context.fail();
  });
}

function headersOf({ headers: file, header }: Options): HeaderLine[] {
  if (file === undefined && header.length === 0) {
    throw new CommandError(2, "pass the headers with --headers FILE, or with --header 'name: value'");
  }
  const fromFile = file === undefined ? [] : readHeaders(bytesOf(file).toString());
  if (file !== undefined && fromFile.length === 0) {
    throw new CommandError(2, `${file} holds no header: write one "name: value" a line, or a JSON object`);
  }
  const given = header.map((line) => {
    const [one] = readHeaders(line);
    if (one) return one;
    throw new CommandError(2, `--header takes 'name: value', not ${JSON.stringify(line)}`);
  });
  return [...fromFile, ...given];
}

async function bodyOf({ terminal }: CommandContext, file: string): Promise<Buffer> {
  return file === '-' ? Buffer.from(await terminal.readInput()) : bytesOf(file);
}

function bytesOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new CommandError(2, `${file} cannot be read: ${(error as Error).message}`);
  }
}

function secretOf(text: string): GivenSecret {
  const [, name = null, secret = text] = NAMED.exec(text) ?? [];
  return { name, secret };
}

function tellDiagnosis(diagnosis: Diagnosis, paint: Paint): string {
  const { genuine, findings } = diagnosis;
  const verdict = genuine ? paint(['bold', 'green'], 'Genuine') : paint(['bold', 'red'], 'Not genuine');
  return `${verdict}\n${factsOf(diagnosis, paint)}${findings.map((finding) => `\n${tellFinding(finding, paint)}`).join('')}`;
}

function factsOf({ event, schemes, secret, ageSeconds }: Diagnosis, paint: Paint): string {
  const named: [name: string, text: string | null][] = [
    ['Event', event?.id ?? null],
    ['Type', event?.type ?? null],
    ['Environment', event?.environment ?? null],
    ['Signed', ageSeconds === null ? null : ageText(ageSeconds)],
    ['Right by', schemes.join(', ')],
    ['Secret', secret],
  ];
  return named.some(([, text]) => text) ? facts(named, paint) : '';
}

function ageText(seconds: number): string {
  return seconds < 0 ? `${durationText(-seconds)} ahead of the clock here` : `${durationText(seconds)} ago`;
}

function tellFinding({ certainty, message, fix }: Finding, paint: Paint): string {
  const [label, style] = certainty === 'proven' ? (['Proven', 'red'] as const) : (['Likely', 'yellow'] as const);
  const because = wrapped(plain(message)).map(
    (line, index) => `${index === 0 ? `${paint(style, label)}  ` : '        '}${line}\n`,
  );
  const advice = wrapped(plain(fix)).map(
    (line, index) => `${index === 0 ? `${paint('cyan', 'Do')}      ` : '        '}${line}\n`,
  );
  return [...because, ...advice].join('');
}

function wrapped(text: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const longer = lines.at(-1) === '' ? word : `${lines.at(-1)} ${word}`;
    if (longer.length <= WIDTH - 8 || lines.at(-1) === '') lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
