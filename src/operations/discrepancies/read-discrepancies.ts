import type { Discrepancy } from '../../domain/discrepancy.ts';
import type { Deps } from '../deps.ts';
import { recordNotFound } from '../not-found.ts';

/** Throws GatewayError `not_found`. */
export async function getDiscrepancy({ store }: Pick<Deps, 'store'>, id: string): Promise<Discrepancy> {
  const discrepancy = await store.discrepancy(id);
  if (!discrepancy) throw recordNotFound('discrepancy', id, 'dis_');
  return discrepancy;
}
