import { WorkflowEntrypoint, WorkflowEvent, WorkflowStep } from "cloudflare:workers";

type Params = { shop: string; day: string };

/** Keeps the stock of a shop as it was in the evening. The same day twice overwrites the same object. */
export class Snapshots extends WorkflowEntrypoint<Env, Params> {
  async run(event: WorkflowEvent<Params>, step: WorkflowStep) {
    const { shop, day } = event.payload;

    const stock = await step.do("read", { retries: { limit: 3, delay: "5 seconds" }, timeout: "1 minute" }, async () => {
      const answer = await fetch(`https://stock.acme.example/shops/${shop}?day=${day}`);
      if (!answer.ok) throw new Error(`no stock: ${answer.status}`);
      return answer.text();
    });

    await step.do("keep", { retries: { limit: 3, delay: "5 seconds" }, timeout: "1 minute" }, async () => {
      await this.env.SNAPSHOTS.put(`${shop}/${day}.json`, stock);
    });
  }
}
