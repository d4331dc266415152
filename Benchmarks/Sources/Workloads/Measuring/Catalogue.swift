/// All workloads, in the order of the report.
public enum Catalogue {
  public static func workloads(_ setting: Setting) -> [Workload] {
    [
      MemoryWorkloads.all(setting), DiskWorkloads.all(setting), ChangeWorkloads.all(setting),
      RemoteWorkloads.all(setting), ArchiveWorkloads.all(setting), WrapperWorkloads.all(setting),
      TraceWorkloads.all(setting),
    ].flatMap(\.self)
  }
}
