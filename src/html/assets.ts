import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { type Content, createContent, sendContent } from './content.ts';

/** A style sheet or script. Its path changes with its content, so browsers may cache it permanently. */
export interface Asset {
  /** For example `/assets/checkout-3f2a91c0d4e5.css`. */
  path: string;
  /** Hash that the browser checks before it uses the content: `sha256-` and base64. */
  integrity: string;
  content: Content;
}

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};
const HASH_LENGTH = 12;
const THEME = new URL('./assets/theme.css', import.meta.url);

/** Reads a script. Called once, when the process starts. */
export function loadScript(file: URL): Asset {
  return assetOf(file, readFileSync(file));
}

/** Reads a style sheet and puts the shared theme before it. Called once, when the process starts. */
export function loadStyle(file: URL): Asset {
  return assetOf(file, Buffer.concat([readFileSync(THEME), readFileSync(file)]));
}

function assetOf(file: URL, body: Buffer): Asset {
  const extension = extname(file.pathname);
  const hash = createHash('sha256').update(body).digest();
  return {
    path: `/assets/${basename(file.pathname, extension)}-${hash.toString('hex').slice(0, HASH_LENGTH)}${extension}`,
    integrity: `sha256-${hash.toString('base64')}`,
    content: createContent(body, TYPES[extension]!),
  };
}

export function serveAssets(app: FastifyInstance, assets: readonly Asset[]): void {
  for (const { path, content } of assets) {
    app.get(path, (request, reply) => {
      reply.header('cache-control', 'public, max-age=31536000, immutable');
      return sendContent(request, reply, content);
    });
  }
}
