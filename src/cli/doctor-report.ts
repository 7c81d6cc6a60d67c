import { INVARIANTS } from '../store/invariants.ts';
import type { ExaminedDatabase } from '../store/database.ts';
import { jsonOf } from './command-context.ts';
import { plain } from './cells.ts';

/** Read-only queries of `tillway doctor`. */
export type Examined = Pick<ExaminedDatabase, 'violations' | 'integrity'>;

/** Result of a check. `unread`: the query failed, for example on a damaged table. `not_asked`: the database has no such check. */
type Outcome = 'ok' | 'broken' | 'unread' | 'not_asked';

interface Finding {
  outcome: Outcome;
  name: string;
  says: string;
  /** Ids of violating records, or messages of the database; empty if the invariant holds. */
  violations: string[];
  /** True if the query found more violations than its limit. */
  more: boolean;
}

// COUNTED limits the memory for a badly broken database; the text shows only SHOWN violations.
const COUNTED = 1000;
const SHOWN = 5;
const INTEGRITY = {
  name: 'database_integrity',
  says: 'The database files are undamaged, and every foreign key has its row.',
};
const NAME_WIDTH = Math.max(...[INTEGRITY, ...INVARIANTS].map(({ name }) => name.length));

const WORD: Record<Outcome, string> = { ok: 'ok', broken: 'BROKEN', unread: 'UNREAD', not_asked: '-' };

/** Checks all invariants. Returns exit code 0 if all hold, 1 if one is broken or its query fails. Rejects if all queries fail. */
export async function doctor(
  store: Examined,
  write: (text: string) => void,
  { json = false, database }: { json?: boolean; database: string },
): Promise<0 | 1> {
  if (!json) write(`Database: ${plain(database)}\n`);
  const findings: Finding[] = [];
  for await (const finding of examine(store)) {
    findings.push(finding);
    if (!json) write(lineOf(finding));
  }
  const checked = findings.filter(({ outcome }) => outcome !== 'not_asked').length;
  const broken = findings.filter(isBroken).length;
  write(json ? documentOf({ database, asked: checked, broken }, findings) : `${summaryOf(checked, broken)}\n`);
  return broken === 0 ? 0 : 1;
}

/** Runs all checks. File integrity comes first, because damaged files can make the other queries fail. */
async function* examine(store: Examined): AsyncGenerator<Finding> {
  let answers = 0;
  let failure: unknown;
  const questions = [
    { ...INTEGRITY, ask: () => store.integrity() },
    ...INVARIANTS.map(({ name, says, sql }) => ({ name, says, ask: () => store.violations(sql, COUNTED + 1) })),
  ];
  for (const { name, says, ask } of questions) {
    try {
      const found = await ask();
      const outcome = found === undefined ? 'not_asked' : found.length === 0 ? 'ok' : 'broken';
      if (found !== undefined) answers++;
      yield { outcome, name, says, violations: found?.slice(0, COUNTED) ?? [], more: (found?.length ?? 0) > COUNTED };
    } catch (error) {
      failure ??= error;
      yield { outcome: 'unread', name, says, violations: [(error as Error).message], more: false };
    }
  }
  if (answers === 0) throw failure;
}

function isBroken({ outcome }: Finding): boolean {
  return outcome === 'broken' || outcome === 'unread';
}

function lineOf(finding: Finding): string {
  const { outcome, name, says, violations, more } = finding;
  const line = `${WORD[outcome].padEnd(6)}  ${name.padEnd(NAME_WIDTH)}  ${says}\n`;
  if (outcome === 'not_asked') return `${line}        ${name}: not checked; use the database server's own tools\n`;
  if (!isBroken(finding)) return line;
  const hidden = violations.length - SHOWN;
  const rest = hidden > 0 ? ` and ${more ? 'at least ' : ''}${hidden} more` : '';
  return `${line}        ${name}: ${plain(violations.slice(0, SHOWN).join(', '))}${rest}\n`;
}

function summaryOf(checked: number, broken: number): string {
  if (broken === 0) return `All ${checked} invariants hold.`;
  return `${broken} of ${checked} invariants ${broken === 1 ? 'is' : 'are'} broken. Nothing was changed. Read docs/doctor.md before you repair anything.`;
}

function documentOf(summary: { database: string; asked: number; broken: number }, findings: Finding[]): string {
  const invariants = findings.map((finding) => ({ ok: !isBroken(finding), ...finding }));
  return `${jsonOf({ ok: summary.broken === 0, ...summary, invariants })}\n`;
}
