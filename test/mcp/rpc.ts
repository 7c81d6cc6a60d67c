/** Sends single JSON-RPC requests to `/mcp`, without an MCP client. */

export interface RpcAnswer<Result> {
  status: number;
  headers: Headers;
  result: Result;
  error?: { code: number; message: string; data?: unknown };
}

export interface ToolAnswer {
  content: { type: string; text: string }[];
  structuredContent: Envelope;
  isError?: boolean;
}

export interface Envelope {
  ok: boolean;
  action: string;
  result?: Record<string, unknown>;
  error?: { code: string; message: string; field?: string; suggestion?: string; issues?: { path: string }[] };
}

/** Sends one request. If `params` is a string, it is the whole body and is sent unchanged. */
export async function rpc<Result>(
  url: string,
  method: string,
  params: Record<string, unknown> | string = {},
  headers: Record<string, string> = {},
): Promise<RpcAnswer<Result>> {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: typeof params === 'string' ? params : JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const text = await response.text();
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  const message = JSON.parse(isStream ? text.slice(text.indexOf('data: ') + 'data: '.length) : text) as object;
  return { status: response.status, headers: response.headers, ...(message as Pick<RpcAnswer<Result>, 'result'>) };
}

export async function callTool(url: string, name: string, input: unknown): Promise<ToolAnswer> {
  return (await rpc<ToolAnswer>(url, 'tools/call', { name, arguments: input })).result;
}
