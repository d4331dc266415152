/// What `soak` knows.
package enum Trials {
  package static let all: [any Trial.Type] = []

  package static let roles: [any TrialRole.Type] = []
}
