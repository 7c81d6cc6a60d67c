import { fastify } from 'fastify';

// The baseline of the dashboard: a Fastify server that sends ready-made pages of any size.
const app = fastify();
const pages = new Map<number, string>();
app.get('/healthz', async () => ({ ok: true }));
app.get<{ Params: { bytes: string } }>('/page/:bytes', (request, reply) => {
  const bytes = Number(request.params.bytes);
  const page = pages.get(bytes) ?? 'x'.repeat(bytes);
  pages.set(bytes, page);
  return reply.type('text/html; charset=utf-8').send(page);
});
await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT']) });
