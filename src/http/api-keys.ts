import assert from 'node:assert/strict';
import type { FastifyInstance } from 'fastify';
import { API_KEY_ENDPOINTS } from '../contract/api-key-endpoints.ts';
import { keyRequest, renderApiKey } from '../contract/api-keys.ts';
import { inputReader } from '../contract/problems.ts';
import { keysQuery, pageOf } from '../contract/queries.ts';
import { assertEnvironment } from '../operations/access/caller.ts';
import { createApiKey, listApiKeys, revokeApiKey } from '../operations/api-keys.ts';
import { centsOf } from '../operations/cents-of.ts';
import type { AppDeps } from './app.ts';
import { defined, param, renderList, serve } from './gateway.ts';

const readKey = inputReader(keyRequest);
const readQuery = inputReader(keysQuery);

/** Who may use the API: an admin's keys of its own environment. */
export function apiKeysApi(app: FastifyInstance, deps: AppDeps): void {
  const hint = `Schema: GET ${deps.urls.base}/openapi.json`;
  serve(app, deps, API_KEY_ENDPOINTS.create, async (request, _reply, deps) => {
    const { caller } = deps;
    assert(caller, 'the endpoint requires a key');
    const { spendPerCheckout, spendPerDay, ...asked } = readKey.read(request.body ?? {}, hint);
    const { environment = caller.environment } = asked;
    assertEnvironment(deps, environment);
    const { text, ...made } = await createApiKey(deps, {
      ...asked,
      environment,
      spendPerCheckout: spendPerCheckout === undefined ? null : centsOf(spendPerCheckout),
      spendPerDay: spendPerDay === undefined ? null : centsOf(spendPerDay),
      source: 'api',
    });
    deps.log.info({ key: made.key.id, scope: made.key.scope, by: caller.id }, 'API key created');
    return { ...renderApiKey(made), key: text };
  });
  serve(app, deps, API_KEY_ENDPOINTS.list, async (request, _reply, deps) => {
    const query = readQuery.read(request.query, hint);
    const { environment } = query;
    return renderList(await listApiKeys(deps, defined({ environment }), pageOf(query)), renderApiKey);
  });
  serve(app, deps, API_KEY_ENDPOINTS.revoke, async (request, _reply, deps) => {
    const revoked = await revokeApiKey(deps, param(request, 'keyId'));
    // Here at once, and elsewhere when what is believed of it is over.
    deps.gate.forget();
    deps.log.info({ key: revoked.key.id, by: deps.caller?.id }, 'API key revoked');
    return renderApiKey(revoked);
  });
}
