/// Each returns another keychain of the same items, and leaves this one as it is.
extension Keychain {
  /// The label that items get when they are set, which the service's own program shows.
  ///
  /// Without one, a new item is labelled with its service and key, and an item that is there keeps its label.
  public func label(_ label: String) -> Keychain {
    with { $0.label = label }
  }

  /// The comment that items get when they are set, an attribute. Not secret.
  public func comment(_ comment: String) -> Keychain {
    with { $0.comment = comment }
  }

  /// Further attributes that items get when they are set, beside those that they have. Not secret.
  ///
  /// Stored as text: strings, Booleans, integers in decimal, data in Base64. To set an item throws
  /// ``KeychainError/Code/invalidAttribute`` when a value is of another type, or when a name is one that tells items
  /// apart (`class`, `service`, `server`, `port`, `protocol`, `authenticationType`, `accessGroup`, `key`, `xdg:…`).
  public func attributes(_ attributes: [String: Any]) -> Keychain {
    with { $0.add(attributes) }
  }

  /// **Without effect on Linux**, but for an attribute that records it: see ``Accessibility``.
  public func accessibility(_ accessibility: Accessibility) -> Keychain {
    with { $0.accessibility = accessibility }
  }

  /// **Without effect on Linux**, but for an attribute that records it: there is no iCloud, and the service
  /// synchronises nothing.
  public func synchronizable(_ synchronizable: Bool) -> Keychain {
    with { $0.synchronizable = synchronizable }
  }

  /// **Without effect on Linux**: the service words its prompts itself.
  public func authenticationPrompt(_ authenticationPrompt: String) -> Keychain {
    with { $0.authenticationPrompt = authenticationPrompt }
  }

  /// Whether a locked keyring may make the service prompt. ``AuthenticationUI/allow`` is the default.
  public func authenticationUI(_ authenticationUI: AuthenticationUI) -> Keychain {
    with { $0.waits.authenticationUI = authenticationUI }
  }

  /// How long a prompt may wait for a person: one minute by default. Zero or less: there is no prompt.
  ///
  /// After that, the call throws ``KeychainError/Code/locked``. The prompt is left to the service, which may go on
  /// showing it: answered later, it unlocks the keyring for later calls.
  public func interactionTimeout(_ timeout: Duration) -> Keychain {
    with { $0.waits.interactionTimeout = timeout }
  }

  /// How long the bus and the service may take for an operation: 5 seconds by default, one day at most. Operations
  /// on many items allow as much for each item. The time of a prompt is not counted.
  ///
  /// After that, the call throws ``KeychainError/Code/timedOut``.
  public func timeout(_ timeout: Duration) -> Keychain {
    with { $0.waits.timeout = timeout }
  }

  private func with(_ change: (inout Options) -> Void) -> Keychain {
    var options = options
    change(&options)
    return Keychain(options, store: store)
  }
}
