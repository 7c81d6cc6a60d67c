// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type OpenApi, type OpenApiOperation, parametersOf } from '../../src/contract/openapi-document.ts';
import { KEY_SCOPES, type KeyScope } from '../../src/domain/api-key.ts';
import { ENVIRONMENTS, type Environment } from '../../src/domain/route.ts';
import { BOOTSTRAP, type Keys, bearer, makeKeys } from '../support/keys.ts';
import { type TestService, startTestService } from '../support/service.ts';

interface Documented {
  method: string;
  path: string;
  operation: OpenApiOperation;
}

const SCHEMES: Record<string, readonly Environment[]> = {
  apiKey: ENVIRONMENTS,
  sandboxKey: ['sandbox'],
  productionKey: ['production'],
};
const ROUTES: Record<Environment, string> = { sandbox: 'sandbox_card_acquirer', production: 'card_stripe' };

describe('the security requirements in the OpenAPI document', () => {
  let keyed: TestService;
  /** A service with keys and a test clock, with which it creates nothing in production. */
  let clocked: TestService;
  let open: TestService;
  let keys: Map<TestService, Keys>;
  let api: OpenApi;
  let operations: Documented[];

  before(async () => {
    const variables = { ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') };
    keyed = await startTestService({ variables: { ...variables, ...BOOTSTRAP } });
    clocked = await startTestService({ variables: { ...variables, ...BOOTSTRAP, TEST_CLOCK: 'true' } });
    open = await startTestService({ variables: { ...variables, TEST_CLOCK: 'true' } });
    keys = new Map([
      [keyed, await makeKeys(keyed.url)],
      [clocked, await makeKeys(clocked.url)],
    ]);
    api = (await (await fetch(`${keyed.url}/openapi.json`)).json()) as OpenApi;
    operations = Object.entries(api.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
    );
  });
  after(async () => {
    for (const service of [keyed, clocked, open]) await service[Symbol.asyncDispose]();
  });

  it('name exactly the scopes and environments of keys that each operation admits', async () => {
    for (const documented of operations) {
      const service = documented.operation.tags.includes('test clock') ? clocked : keyed;
      for (const environment of ENVIRONMENTS) {
        for (const scope of KEY_SCOPES) {
          const code = await codeOf(service.url, documented, environment, keys.get(service)![environment][scope]);
          assert.notEqual(code, 'unauthorized');
          const name = `${documented.operation.operationId} with a key of ${environment} and scope ${scope}: ${code}`;
          assert.equal(code !== 'forbidden', admits(documented.operation, environment, scope), name);
        }
      }
    }
  });

  it('allow no key exactly where an operation admits callers of a service without keys', async () => {
    for (const documented of operations) {
      const { operationId, security = [] } = documented.operation;
      const code = await codeOf(open.url, documented, 'sandbox', undefined);
      assert.equal(
        code !== 'forbidden',
        security.some((alternative) => Object.keys(alternative).length === 0),
        `${operationId}: ${code}`,
      );
      assert.equal(await codeOf(keyed.url, documented, 'sandbox', undefined), 'unauthorized', operationId);
    }
  });

  function admits({ security = [] }: OpenApiOperation, environment: Environment, scope: KeyScope): boolean {
    return security.some((alternative) =>
      Object.entries(alternative).some(
        ([scheme, scopes]) => SCHEMES[scheme]!.includes(environment) && scopes.includes(scope),
      ),
    );
  }

  /** Error code of the answer to an operation's documented example, which names records that do not exist. */
  async function codeOf(
    url: string,
    { method, path, operation }: Documented,
    environment: Environment,
    key: string | undefined,
  ): Promise<string | undefined> {
    const examples = new Map(parametersOf(api, operation).map(({ name, example }) => [name, String(example)]));
    examples.set('routeId', ROUTES[environment]);
    const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
    const schema = api.components.schemas[content?.schema.$ref?.split('/').at(-1) ?? ''];
    const own = schema?.properties?.['environment'] && { environment };
    const body =
      type === 'text/csv'
        ? String(content?.example)
        : JSON.stringify({ ...(content?.example as object | undefined), ...own });
    const response = await fetch(url + path.replace(/\{(\w+)\}/g, (_, name: string) => examples.get(name)!), {
      method,
      headers: { ...(type !== undefined && { 'content-type': type }), ...(key !== undefined && bearer(key)) },
      ...(content && { body }),
    });
    const text = await response.text();
    if (response.ok) return undefined;
    return (JSON.parse(text) as { error: { code: string } }).error.code;
  }
});
