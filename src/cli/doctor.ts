import { INVARIANTS } from '../store/invariants.ts';
import type { ExaminedDatabase } from '../store/store.ts';

/** What a database is asked; nothing is written. */
export type Examined = Pick<ExaminedDatabase, 'violations' | 'integrity'>;

interface Finding {
  name: string;
  says: string;
  /** Ids, or words of the database's own; nothing where all is well. */
  violations: string[];
  /** Whether there may be more than were asked for. */
  more: boolean;
}

// So many are asked for, which keeps a broken database from filling the memory; a person is shown some of them.
const COUNTED = 1000;
const SHOWN = 5;
const INTEGRITY = {
  name: 'database_integrity',
  says: 'The database itself finds its files whole and its references kept.',
};
const NAME_WIDTH = Math.max(...[INTEGRITY, ...INVARIANTS].map(({ name }) => name.length));

/**
 * Asks whether every invariant holds, and says so, a line for each, or everything as one JSON document. Answers the exit
 * code: 0 where all hold, 1 where one is broken. Repairs nothing; rejects where the database cannot be asked.
 */
export async function doctor(
  store: Examined,
  write: (text: string) => void,
  { json = false }: { json?: boolean } = {},
): Promise<0 | 1> {
  const findings: Finding[] = [];
  for await (const finding of examine(store)) {
    findings.push(finding);
    if (!json) write(lineOf(finding));
  }
  const broken = findings.filter(isBroken).length;
  write(json ? documentOf(findings) : `${summaryOf(findings.length, broken)}\n`);
  return broken === 0 ? 0 : 1;
}

/** The files first: where they are damaged, what follows may not be readable at all. */
async function* examine(store: Examined): AsyncGenerator<Finding> {
  const integrity = await store.integrity();
  yield { ...INTEGRITY, violations: integrity.slice(0, COUNTED), more: integrity.length > COUNTED };
  for (const { name, says, sql } of INVARIANTS) {
    const found = await store.violations(sql, COUNTED + 1);
    yield { name, says, violations: found.slice(0, COUNTED), more: found.length > COUNTED };
  }
}

function isBroken({ violations }: Finding): boolean {
  return violations.length > 0;
}

function lineOf(finding: Finding): string {
  const { name, says, violations, more } = finding;
  const line = `${isBroken(finding) ? 'BROKEN' : 'ok'.padEnd(6)}  ${name.padEnd(NAME_WIDTH)}  ${says}\n`;
  if (!isBroken(finding)) return line;
  const hidden = violations.length - SHOWN;
  const rest = hidden > 0 ? ` and ${more ? 'at least ' : ''}${hidden} more` : '';
  return `${line}        ${name}: ${violations.slice(0, SHOWN).join(', ')}${rest}\n`;
}

function summaryOf(asked: number, broken: number): string {
  if (broken === 0) return `All ${asked} invariants hold.`;
  return `${broken} of ${asked} invariants ${broken === 1 ? 'is' : 'are'} broken. Nothing was changed. Read docs/doctor.md before you do anything.`;
}

function documentOf(findings: Finding[]): string {
  const broken = findings.filter(isBroken).length;
  const invariants = findings.map((finding) => ({ ok: !isBroken(finding), ...finding }));
  return `${JSON.stringify({ ok: broken === 0, asked: findings.length, broken, invariants }, null, 2)}\n`;
}
