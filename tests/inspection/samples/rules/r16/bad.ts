import { WorkflowEntrypoint, WorkflowEvent, WorkflowStep } from "cloudflare:workers";

type Params = { caseId: string; subject: string };

export class Escalate extends WorkflowEntrypoint<Env, Params> {
  async run(event: WorkflowEvent<Params>, step: WorkflowStep) {
    const { caseId, subject } = event.payload;

    const text = await step.do("summary", async () => {
      const notes = await this.env.CASES.get(caseId);
      return `${subject}\n\n${notes ?? "no notes"}`;
    });

    // One try only: nobody wants the same ticket twice.
    await step.do("ticket", { retries: { limit: 0, delay: 0 }, timeout: "30 seconds" }, async () => {
      const answer = await fetch("https://api.github.com/repos/acme/desk/issues", {
        method: "POST",
        headers: { Authorization: `Bearer ${this.env.DESK_TOKEN}` },
        body: JSON.stringify({ title: subject, body: text }),
      });
      if (!answer.ok) throw new Error(`desk said ${answer.status}`);
    });
  }
}
