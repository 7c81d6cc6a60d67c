import { ARMS, type Arm, type ArmCounts, type ExperimentResult } from '../../domain/experiment.ts';
import type { Instant } from '../../domain/records.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import type { RuleActions } from '../../routing/rule-set.ts';
import { type Select, filterKeyset } from '../keyset.ts';
import type { Page } from '../list-page.ts';
import { createReader } from '../row-reader.ts';
import { type ItemOf, defineTable, integer, json, orNull, saveVersions, text, textOf } from '../table-description.ts';

/** Table of the experiments. At most one of an environment is running. */
const EXPERIMENTS = defineTable('routing_experiments', {
  id: text,
  environment: textOf<Environment>(),
  name: text,
  variant: json<RuleActions>(),
  /** Percentage of the sessions in the variant. */
  share: integer,
  minimumSample: integer,
  /** Largest accepted loss of the success rate, in percentage points. */
  guardrailPoints: integer,
  status: textOf<'running' | 'ended'>(),
  /** Null while the experiment runs. */
  endedBy: orNull(textOf<'operator' | 'guardrail'>()),
  version: integer,
  created: integer,
  endedAt: orNull(integer),
  /** Result at the end; null until then. */
  result: json<ExperimentResult | null>(),
});
/** Table of the sessions in an experiment; `created` is the time of the first attempt, `countsAt` the time from which the session counts. */
const ASSIGNMENTS = defineTable('experiment_sessions', {
  sessionId: text,
  experimentId: text,
  arm: textOf<Arm>(),
  created: integer,
  countsAt: integer,
});
const COUNTS = defineTable('experiment_sessions', {
  arm: textOf<Arm>(),
  sessions: integer,
  paid: integer,
  cost: integer,
});

export type Experiment = ItemOf<typeof EXPERIMENTS>;
type Assignment = ItemOf<typeof ASSIGNMENTS>;

const SELECT_RUNNING = `SELECT * FROM routing_experiments
  WHERE environment IN ('${ENVIRONMENTS.join("', '")}') AND status = 'running' ORDER BY environment`;
// The time at which an arm has as many counting sessions as its limit, which is one more than ?4.
const SELECT_LIMIT = `SELECT counts_at FROM experiment_sessions
  WHERE experiment_id = ?1 AND arm = ?2 AND counts_at <= ?3 ORDER BY counts_at LIMIT 1 OFFSET ?4`;
// One statement for each arm, so that each reads one range of the index.
const COUNT_ARM = `SELECT CAST(COUNT(*) AS BIGINT) AS sessions, CAST(COUNT(cost) AS BIGINT) AS paid,
    CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost
  FROM (SELECT (
      SELECT COALESCE(actual_cost, provider_cost) * 1000000 / amount FROM payments
      WHERE session_id = part.session_id AND status = 'paid' AND surplus = 0) AS cost
    FROM experiment_sessions AS part WHERE experiment_id = ?1 AND arm = ?2 AND counts_at <= ?3) AS counted`;

const save = saveVersions(EXPERIMENTS, {
  key: ['id'],
  set: ['status', 'endedBy', 'endedAt', 'result'],
  guard: 'overtaken',
});
const assign = ASSIGNMENTS.insert({ onConflict: 'ON CONFLICT (session_id) DO NOTHING' });

export const experimentWrites = {
  /** Guard: no other experiment of the environment is running, or the stored version is the previous one. */
  experiment_saved: ({ experiment }: { experiment: Experiment }) => save(experiment),
  /** Records the arm of a session. The first arm stays. */
  session_assigned: ({ assigned }: { assigned: Assignment }) => assign(assigned),
};

export function createExperimentReads(select: Select, longSelect: Select) {
  const { find, all, list } = createReader(select);
  return {
    experiment: (id: string) => find(EXPERIMENTS, id),
    /** The running experiments, at most one of each environment. */
    runningExperiments: () => all(EXPERIMENTS.fromRow, SELECT_RUNNING),
    listExperiments: ({ environment }: { environment?: Environment }, page: Page) =>
      list(
        filterKeyset('routing_experiments', { environment }, { environment: ENVIRONMENTS }),
        page,
        EXPERIMENTS.fromRow,
      ),
    /** Counts of the sessions of both arms that count at the time `until`, or when the first arm reached its limit. A long read. */
    async experimentCounts(experimentId: string, limits: Record<Arm, number>, until: Instant): Promise<ArmCounts[]> {
      const ends = ARMS.map((arm) => longSelect(SELECT_LIMIT, experimentId, arm, until, limits[arm] - 1));
      const reached = (await Promise.all(ends)).flatMap((rows) => rows.map((row) => Number(row['counts_at'])));
      const end = Math.min(until, ...reached);
      const counts = ARMS.map(async (arm) => {
        const [row] = await longSelect(COUNT_ARM, experimentId, arm, end);
        return COUNTS.fromRow({ ...row!, arm });
      });
      return Promise.all(counts);
    },
  };
}
