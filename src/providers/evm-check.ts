import type { Instant } from '../domain/records.ts';
import type { Chain } from './evm-chains.ts';
import type { Block, ChainNode } from './evm-rpc.ts';
import type { ChainCursor } from './evm-store.ts';
import { standbyReason } from './evm-verdicts.ts';
import { LOOK_AHEAD, type WalletStore } from './evm-wallet-store.ts';
import type { Wallet } from './evm-wallet.ts';
import type { CheckResult, Finding } from './provider.ts';

/** Largest difference between the newest blocks of the nodes. */
const MAX_LAG = 10;
const LOG_BLOCKS = 100;

interface CheckedInstance {
  id: string;
  chain: Chain & { token: string };
  quorum: number;
  nodes: readonly ChainNode[];
  wallet: Wallet;
  /** The position of the watcher; undefined before its first poll, and for a check without a service. */
  cursor(): Promise<ChainCursor | undefined>;
  /** Undefined for a check without a service. */
  store: WalletStore | undefined;
  now(): Instant;
}

/** Checks whether an instance can take payments: the nodes, the chain, the token, and the counter of addresses. */
export async function checkEvm(instance: CheckedInstance): Promise<CheckResult> {
  const { id, chain, quorum, nodes, wallet, cursor, store, now } = instance;
  const reason = standbyReason(await cursor(), now());
  if (reason !== undefined)
    return { ready: false, findings: [{ level: 'error', message: reason, todo: 'Check the nodes.' }] };
  const checked = await Promise.all(nodes.map((node) => checkNode(node, chain, wallet)));
  const sound = checked.flatMap(({ latest, node }) => (latest ? [{ latest, node }] : []));
  const findings = checked.map(({ finding }) => finding);
  if (sound.length < quorum) {
    const message = `${sound.length} of ${nodes.length} nodes of ${chain.label} can be used, and ${quorum} must agree`;
    findings.unshift({ level: 'error', message, todo: 'Correct the nodes below.' });
  } else {
    findings.push({ level: 'ok', message: `${chain.label} (chain ${chain.chainId}), USDC ${chain.token}` });
    findings.push(...lagFindings(sound), ...(await counterFindings(id, sound[0]!.node, wallet, store)));
  }
  if (quorum === 1) {
    const message = 'one node decides about money: a faulty node can report payments that do not exist';
    findings.push({ level: 'warning', message, todo: 'Configure nodes of two vendors or more.' });
  }
  const address = `the first address is ${wallet.address(0)}: compare it with the wallet`;
  findings.push({ level: 'ok', message: address });
  return { ready: findings.every(({ level }) => level !== 'error'), findings };
}

/** Checks one node. A node that cannot be used is a warning, because others may be enough. */
async function checkNode(
  node: ChainNode,
  { token, label }: Chain & { token: string },
  wallet: Wallet,
): Promise<{ node: ChainNode; latest?: Block; finding: Finding }> {
  const problem = (message: string, todo: string) => ({ node, finding: { level: 'warning' as const, message, todo } });
  const unusable = ({ message }: Error, todo: string) =>
    problem(message.startsWith(node.name) ? message : `${node.name} does not answer: ${message}`, todo);
  const [heads, found] = await Promise.allSettled([node.heads(), node.token()]);
  if (heads.status === 'rejected') return unusable(heads.reason as Error, `Set a URL of ${label}.`);
  if (found.status === 'rejected') return unusable(found.reason as Error, 'Check the token and the chain.');
  const { latest } = heads.value;
  const { symbol, decimals } = found.value;
  if (decimals !== 6) {
    return problem(`the token ${token} has ${decimals} decimals at ${node.name}`, 'USDC has 6: check the token.');
  }
  try {
    await node.transfers(Math.max(latest.number - LOG_BLOCKS, 0), latest.number, [wallet.address(0)]);
  } catch (error) {
    return unusable(error as Error, `Set a URL whose plan allows eth_getLogs over ${LOG_BLOCKS} blocks.`);
  }
  const message = `${node.name}: ${symbol}, ${decimals} decimals, block ${latest.number}`;
  return { node, latest, finding: { level: 'ok', message } };
}

function lagFindings(sound: readonly { node: ChainNode; latest: Block }[]): Finding[] {
  const newest = Math.max(...sound.map(({ latest }) => latest.number));
  return sound
    .filter(({ latest }) => newest - latest.number > MAX_LAG)
    .map(({ node, latest }) => {
      const message = `${node.name} is ${newest - latest.number} blocks behind the other nodes`;
      return { level: 'warning', message, todo: 'Payments wait for this node, or use another vendor.' };
    });
}

/** A balance after the counter means that the database is older than the chain: an address would be used twice. */
async function counterFindings(
  id: string,
  node: ChainNode,
  wallet: Wallet,
  store: WalletStore | undefined,
): Promise<Finding[]> {
  if (!store) return [];
  const { nextIndex: next } = await store.counter();
  const balances = await node.balances(Array.from({ length: LOOK_AHEAD }, (_, ahead) => wallet.address(next + ahead)));
  const used = balances.findLastIndex((units) => units > 0);
  if (used === -1) return [];
  const message = `address 0/${next + used} has USDC, but the database has given out only the first ${next} addresses`;
  const todo = `After a restored backup, run: tillway providers addresses ${id} --skip-to ${next + used + 1}`;
  return [{ level: 'error', message, todo }];
}
