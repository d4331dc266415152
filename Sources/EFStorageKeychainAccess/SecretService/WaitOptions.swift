struct WaitOptions: Sendable, Equatable {
  var timeout: Duration = .seconds(5)
  var interactionTimeout: Duration = .seconds(60)
  var authenticationUI: AuthenticationUI = .allow

  var mayPrompt: Bool { authenticationUI == .allow && interactionTimeout > .zero }
}
