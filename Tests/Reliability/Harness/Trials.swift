/// What `soak` knows.
package enum Trials {
  package static let all: [any Trial.Type] = [
    ChurnTrial.self,
    CorruptionTrial.self,
    DeletionTrial.self,
    FullDiskTrial.self,
    HostileTrial.self,
    KillTrial.self,
    LinearizabilityTrial.self,
    ModelTrial.self,
    PowerLossTrial.self,
    SuspensionTrial.self,
  ]

  package static let roles: [any TrialRole.Type] = [
    ChurnReaderRole.self,
    CorruptionRole.self,
    DeletionRole.self,
    FullDiskStage.self,
    FullDiskUser.self,
    HistoryRole.self,
    HostileReader.self,
    KillDumpRole.self,
    KillReaderRole.self,
    KillWriterRole.self,
    PowerLossReader.self,
    PowerLossWriter.self,
    SuspensionRole.self,
  ]
}
