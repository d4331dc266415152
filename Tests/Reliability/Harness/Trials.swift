/// What `soak` knows.
package enum Trials {
  package static let all: [any Trial.Type] = [
    CorruptionTrial.self
  ]

  package static let roles: [any TrialRole.Type] = [
    CorruptionRole.self
  ]
}
