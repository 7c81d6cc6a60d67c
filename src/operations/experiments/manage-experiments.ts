import { isDeepStrictEqual } from 'node:util';
import type { ExperimentRequest } from '../../contract/experiment-contract.ts';
import { type ExperimentResult, largestSampleOf, limitsOf, resultOf } from '../../domain/experiment.ts';
import { GatewayError } from '../../domain/gateway-error.ts';
import { valueAt } from '../../domain/invalid-input.ts';
import { catalogueFaults } from '../../routing/check-rules.ts';
import { within } from '../../routing/rule-faults.ts';
import { refusalOf } from '../../routing/rule-problems.ts';
import type { Page, PageResult } from '../../store/list-page.ts';
import type { Experiment } from '../../store/tables/experiments-table.ts';
import { assertEnvironment } from '../access/caller.ts';
import type { Deps } from '../deps.ts';
import { found } from '../not-found.ts';
import { retryOnConflict } from '../retry-on-conflict.ts';

type ExperimentDeps = Pick<Deps, 'store' | 'now'>;
type ShownExperiment = Experiment & { result: ExperimentResult };

/**
 * Starts an experiment. Throws GatewayError `invalid_input` for an unknown route or a minimum sample that is too large, and
 * `invalid_state` if another experiment is running.
 */
export async function startExperiment(deps: Deps, request: ExperimentRequest): Promise<ShownExperiment> {
  const { environment } = request;
  assertEnvironment(deps, environment);
  assertPossible(deps, request);
  const experiment = await retryOnConflict(deps, 'the experiments', async () => {
    const [newest] = (await deps.store.listExperiments({ environment }, { limit: 1 })).items;
    if (newest?.status === 'running') {
      // The order of the properties of a selector means nothing.
      if (isDeepStrictEqual(settingsOf(newest), settingsOf(request))) return { changes: [], result: newest };
      throw new GatewayError('invalid_state', `Experiment ${newest.id} of ${environment} is still running.`, {
        suggestion: 'End it, or wait for its result; then resend.',
      });
    }
    const state = { status: 'running', endedBy: null, version: 1, endedAt: null, result: null } as const;
    const started: Experiment = { id: deps.newId('exp'), ...request, ...state, created: deps.now() };
    return { changes: [{ type: 'experiment_saved', experiment: started }], result: started };
  });
  await deps.router.refresh();
  return shown(deps, experiment);
}

/** An experiment with its result. Throws GatewayError `not_found`. */
export async function readExperiment(deps: ExperimentDeps, id: string): Promise<ShownExperiment> {
  return shown(deps, await foundExperiment(deps, id));
}

/** Experiments with their results, newest first. */
export async function listExperiments(
  deps: ExperimentDeps,
  filter: Parameters<Deps['store']['listExperiments']>[0],
  page: Page,
): Promise<PageResult<ShownExperiment>> {
  const { items, ...rest } = await deps.store.listExperiments(filter, page);
  return { ...rest, items: await Promise.all(items.map((one) => shown(deps, one))) };
}

/** Ends an experiment for an operator, and stores its result. Throws GatewayError `not_found`. */
export async function endExperiment(deps: Deps, id: string): Promise<ShownExperiment> {
  const ended = await end(deps, id, 'operator', () => true);
  await deps.router.refresh();
  return ended;
}

/** Ends the running experiments whose variant is certainly worse than their guardrail allows; returns their number. */
export async function checkGuardrails(deps: Pick<Deps, 'store' | 'now' | 'log'>): Promise<number> {
  let count = 0;
  for (const { id, guardrailPoints } of await deps.store.runningExperiments()) {
    const ended = await end(deps, id, 'guardrail', ({ high }) => high < -guardrailPoints);
    if (ended.endedBy !== 'guardrail') continue;
    count++;
    const { environment, result } = ended;
    deps.log.warn({ experiment: id, environment, result }, 'a guardrail ended an experiment');
  }
  return count;
}

function end(
  deps: ExperimentDeps,
  id: string,
  endedBy: Experiment['endedBy'],
  isDue: (result: ExperimentResult) => boolean,
): Promise<ShownExperiment> {
  return retryOnConflict(deps, `experiment ${id}`, async () => {
    const experiment = await shown(deps, await foundExperiment(deps, id));
    if (experiment.status === 'ended' || !isDue(experiment.result)) return { changes: [], result: experiment };
    const state = { status: 'ended', endedBy, endedAt: deps.now(), version: experiment.version + 1 } as const;
    const ended = { ...experiment, ...state };
    return { changes: [{ type: 'experiment_saved', experiment: ended }], result: ended };
  });
}

/**
 * Throws GatewayError `invalid_input` for names in the variant that the catalogue of the environment does not have, and for a minimum
 * sample that the variant could miss.
 */
function assertPossible({ routes }: Pick<Deps, 'routes'>, request: ExperimentRequest): void {
  const { environment: wanted, variant, share, minimumSample } = request;
  const own = routes.filter(({ environment }) => environment === wanted);
  const faults = within(['variant'], catalogueFaults(variant, own)).map((fault) => {
    const named = routes.find(({ id }) => id === valueAt(request, fault.path));
    if (!named || named.environment === wanted) return fault;
    return { ...fault, message: `is a route of ${named.environment}, not of ${wanted}` };
  });
  const most = largestSampleOf(share);
  if (minimumSample > most) {
    const message = `must be at most ${most} with a share of ${share} %`;
    faults.push({ path: ['minimumSample'], code: 'too_big', message });
  }
  if (faults.length > 0) throw refusalOf(faults, request);
}

async function foundExperiment({ store }: ExperimentDeps, id: string): Promise<Experiment> {
  return found(await store.experiment(id), 'experiment', id, 'exp_');
}

/** The experiment with its result: the stored one, or that of this moment while it runs. */
async function shown({ store, now }: ExperimentDeps, experiment: Experiment): Promise<ShownExperiment> {
  const until = now();
  const { id, share, result } = experiment;
  if (result) return { ...experiment, result };
  return {
    ...experiment,
    result: resultOf(await store.experimentCounts(id, limitsOf(share), until), experiment, until),
  };
}

/** The settings of an experiment: requests with equal settings start the same experiment. */
function settingsOf({ name, variant, share, minimumSample, guardrailPoints }: Omit<ExperimentRequest, 'environment'>) {
  return { name, variant, share, minimumSample, guardrailPoints };
}
