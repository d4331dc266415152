/// What `soak` knows.
package enum Trials {
  package static let all: [any Trial.Type] = [
    ChurnTrial.self,
    ClockJumpsTrial.self,
    CorruptionTrial.self,
    DeletionTrial.self,
    ForeignFilesTrial.self,
    ForgedMetadataTrial.self,
    FullDiskTrial.self,
    HostileTrial.self,
    KillTrial.self,
    LifeCycleTrial.self,
    LinearizabilityTrial.self,
    ModelTrial.self,
    PowerLossTrial.self,
    SuspensionTrial.self,
    UpdatesTrial.self,
    UserDefaultsTrial.self,
  ]

  package static let roles: [any TrialRole.Type] = [
    ChurnReaderRole.self,
    ClockJumpsRole.self,
    CorruptionRole.self,
    DeletionRole.self,
    ForeignFilesRole.self,
    ForgedMetadataRole.self,
    FullDiskStage.self,
    FullDiskUser.self,
    HistoryRole.self,
    HostileReader.self,
    KillDumpRole.self,
    KillReaderRole.self,
    KillWriterRole.self,
    LifeCycleRole.self,
    PowerLossReader.self,
    PowerLossWriter.self,
    SuspensionRole.self,
    UpdatesRole.self,
    UserDefaultsRole.self,
  ]
}
