/// What `soak` knows.
package enum Trials {
  package static let all: [any Trial.Type] = [
    CorruptionTrial.self,
    FullDiskTrial.self,
    HostileTrial.self,
    PowerLossTrial.self,
  ]

  package static let roles: [any TrialRole.Type] = [
    CorruptionRole.self,
    FullDiskStage.self,
    FullDiskUser.self,
    HostileReader.self,
    PowerLossReader.self,
    PowerLossWriter.self,
  ]
}
