import type { Chain } from './evm-chains.ts';
import type { Block, ChainNode, Receipt, TransferLog } from './evm-rpc.ts';

/** Reason for which the chain could not be read. `isDisagreement`: the nodes contradict each other or what is stored. */
export class ChainProblem extends Error {
  readonly isDisagreement: boolean;

  constructor(message: string, isDisagreement = false) {
    super(message);
    this.isDisagreement = isDisagreement;
  }
}

/** A node with the newest blocks that it has reported. */
export interface AnsweringNode {
  node: ChainNode;
  latest: Block;
  final: Block;
}

/** The highest final block on which a quorum agrees, the nodes of that quorum, and all nodes that answered. */
export interface AgreedHeight {
  height: number;
  agreeing: readonly AnsweringNode[];
  heads: readonly AnsweringNode[];
}

/** The nodes of a chain, whose answers count only if `quorum` of them are equal. All methods reject with {@link ChainProblem}. */
export interface Quorum {
  height(): Promise<AgreedHeight>;
  /** Transfers to `addresses` in a range of final blocks, both ends included. */
  transfers(
    agreeing: readonly AnsweringNode[],
    from: number,
    to: number,
    addresses: readonly string[],
  ): Promise<TransferLog[]>;
  /** Transfers after the final block, as the first node that answers reports them; undefined if no node has such blocks. */
  openTransfers(
    agreeing: readonly AnsweringNode[],
    finalBlock: number,
    addresses: readonly string[],
  ): Promise<TransferLog[] | undefined>;
  /** The receipt of a transaction; null if it did not succeed. */
  receipt(txHash: string, agreeing: readonly AnsweringNode[]): Promise<Receipt | null>;
  /** True if a quorum of nodes, at least `blocks` blocks deep, reports the transfer in the same block. */
  confirms(transfer: TransferLog, heads: readonly AnsweringNode[], blocks: number): Promise<boolean>;
  /** For each address, the highest balance that a quorum of the nodes reports or exceeds. */
  balances(agreeing: readonly AnsweringNode[], addresses: readonly string[]): Promise<number[]>;
}

export function createQuorum({ label }: Chain, nodes: readonly ChainNode[], quorum: number): Quorum {
  /** The answers of the nodes that answer, at least as many as the quorum. */
  async function answersOf<Item, Answer>(
    items: readonly Item[],
    ask: (item: Item) => Promise<Answer>,
  ): Promise<Answer[]> {
    const settled = await Promise.allSettled(items.map(ask));
    const answers = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    if (answers.length >= quorum) return answers;
    const failed = settled.flatMap((one) => (one.status === 'rejected' ? [(one.reason as Error).message] : []));
    const reasons = failed.length === 0 ? '' : `: ${failed.join('; ')}`;
    throw new ChainProblem(
      `${answers.length} of ${nodes.length} nodes of ${label} answer, and ${quorum} must answer${reasons}`,
    );
  }

  /** The answers that are equal by their key, if a quorum gives them. */
  function agreed<Answer>(answers: readonly Answer[], keyOf: (answer: Answer) => string, about: string): Answer[] {
    const group = [...Map.groupBy(answers, keyOf).values()].find(({ length }) => length >= quorum);
    if (group) return group;
    throw new ChainProblem(`the nodes of ${label} disagree about ${about}`, true);
  }

  async function receiptFrom(asked: readonly AnsweringNode[], txHash: string): Promise<Receipt | null> {
    const answers = await answersOf(asked, ({ node, latest }) => node.receipt(txHash, latest));
    return agreed(answers, (receipt) => JSON.stringify(receipt), `transaction ${txHash}`)[0]!;
  }

  return {
    async height() {
      const heads = await answersOf(nodes, async (node): Promise<AnsweringNode> => ({ node, ...(await node.heads()) }));
      const height = heads.map(({ final }) => final.number).toSorted((a, b) => b - a)[quorum - 1]!;
      const able = heads.filter(({ final }) => final.number >= height);
      const hashed = await answersOf(able, async (head) => {
        const hash = head.final.number === height ? head.final.hash : await head.node.blockHash(height);
        return { head, hash };
      });
      const agreeing = agreed(hashed, ({ hash }) => hash, `block ${height}`).map(({ head }) => head);
      return { height, agreeing, heads };
    },
    async transfers(agreeing, from, to, addresses) {
      const answers = await answersOf(agreeing, ({ node, final }) => node.transfers(from, to, addresses, final));
      const keyOf = (logs: TransferLog[]) => logs.map(transferKey).toSorted().join(' ');
      return agreed(answers, keyOf, `blocks ${from} to ${to}`)[0]!;
    },
    async openTransfers(agreeing, finalBlock, addresses) {
      const ahead = agreeing.filter(({ latest }) => latest.number > finalBlock);
      for (const { node, latest } of ahead) {
        try {
          return await node.transfers(finalBlock + 1, latest.number, addresses, latest);
        } catch {
          // The next node is asked.
        }
      }
      if (ahead.length === 0) return undefined;
      throw new ChainProblem(`no node of ${label} reports the transfers that are not final`);
    },
    receipt: (txHash, agreeing) => receiptFrom(agreeing, txHash),
    async confirms({ txHash, logIndex, blockHash, blockNumber, address, units }, heads, blocks) {
      const deep = heads.filter(({ latest }) => latest.number - blockNumber + 1 >= blocks);
      try {
        const receipt = await receiptFrom(deep, txHash);
        const isSame = (log: Receipt['transfers'][number]) =>
          log.logIndex === logIndex && log.units === units && log.to === address.toLowerCase();
        return receipt?.blockHash === blockHash && receipt.transfers.some(isSame);
      } catch (error) {
        // The transfer counts once it is final.
        if (error instanceof ChainProblem) return false;
        throw error;
      }
    },
    async balances(agreeing, addresses) {
      const answers = await answersOf(agreeing, ({ node }) => node.balances(addresses));
      return addresses.map((_, index) => {
        const balances = answers.map((answer) => answer[index]!);
        return balances.toSorted((a, b) => b - a)[quorum - 1]!;
      });
    },
  };
}

/** Key of a transfer in a block, with all that nodes report about it. */
export function transferKey({ txHash, logIndex, blockHash, address, units }: TransferLog): string {
  return `${txHash}/${logIndex}/${blockHash}/${address}/${units}`;
}
