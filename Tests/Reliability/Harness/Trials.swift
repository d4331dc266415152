package enum Trials {
  package static let all: [any Trial.Type] = [
    ChurnTrial.self,
    CorruptionTrial.self,
    DeletionTrial.self,
    FleetTrial.self,
    ForeignFilesTrial.self,
    ForgedMetadataTrial.self,
    FullDiskTrial.self,
    HostileTrial.self,
    KillTrial.self,
    ModelTrial.self,
    PowerLossTrial.self,
    SuspensionTrial.self,
  ]

  package static let roles: [any TrialRole.Type] = [
    ChurnReaderRole.self,
    CorruptionRole.self,
    DeletionRole.self,
    FleetRole.self,
    ForeignFilesRole.self,
    ForgedMetadataRole.self,
    FullDiskStage.self,
    FullDiskUser.self,
    HostileReader.self,
    KillDumpRole.self,
    KillReaderRole.self,
    KillWriterRole.self,
    LongValueStage.self,
    ModelRole.self,
    PowerLossReader.self,
    PowerLossWriter.self,
    SuspensionRole.self,
  ]
}
