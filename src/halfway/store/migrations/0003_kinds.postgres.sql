-- Records of two more kinds, and approvals.

alter table halfway_record drop constraint halfway_record_kind_check;
alter table halfway_record add constraint halfway_record_kind_check check (
    kind = 'STEP' or kind = 'PROBE' or kind = 'CHECK' or kind = 'COMPENSATION' or kind = 'COMPENSATION_PROBE' or kind = 'DRAFT'
);
alter table halfway_record add column approved_until bigint;
alter table halfway_record add column approved_by text not null default '';
create index halfway_record_waiting on halfway_record (ready_at) where status = 'WAITING' and ready_at is not null;
